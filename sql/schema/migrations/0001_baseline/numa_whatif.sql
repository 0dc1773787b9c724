CREATE TABLE IF NOT EXISTS numa_whatif
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When its pods or CPUs last changed; the version of this row' CODEC(Delta, ZSTD(1)),
    scope LowCardinality(String) COMMENT 'node or cluster',
    node LowCardinality(String) COMMENT 'Name of the node; empty for scope cluster',
    strategy LowCardinality(String) COMMENT 'most_allocated, least_allocated, distribute_evenly, spread_by_pcpus (packed, one thread of each core first), full_pcpus_only (packed, whole cores only) or gang',
    skew_ratio Float64 COMMENT 'Highest minus lowest ratio of exclusive to allocatable CPUs, 0 to 1',
    mean_absolute_deviation Float64 COMMENT 'Mean distance of the ratios from their mean, 0 to 1',
    free_cpus Int64 COMMENT 'Free exclusive CPUs' CODEC(T64, LZ4),
    largest_fit_cpus Int64 COMMENT 'Largest exclusive request that would still fit one NUMA node' CODEC(T64, LZ4),
    stranded_cpus Int64 COMMENT 'Free CPUs outside the NUMA node with most of them' CODEC(T64, LZ4),
    free_cores Int64 COMMENT 'Physical cores of which every hardware thread would be free' CODEC(T64, LZ4),
    spanning_pods Int64 COMMENT 'Pods that would are on several NUMA nodes' CODEC(T64, LZ4),
    unplaced_pods Int64 COMMENT 'Pods that would find no place' CODEC(T64, LZ4),
    pods Int64 COMMENT 'Pods that were placed again' CODEC(T64, LZ4)
)
ENGINE = ReplacingMergeTree(ts)
ORDER BY (cluster, scope, node, strategy)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'The same pods placed again by another strategy'
