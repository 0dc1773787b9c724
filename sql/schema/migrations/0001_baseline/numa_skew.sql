CREATE TABLE IF NOT EXISTS numa_skew
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed; of scope cluster the begin of the minute' CODEC(Delta, ZSTD(1)),
    scope LowCardinality(String) COMMENT 'node or cluster',
    node LowCardinality(String) COMMENT 'Name of the node; empty for scope cluster',
    skew_ratio Nullable(Float64) COMMENT 'Highest minus lowest ratio of exclusive to allocatable CPUs, 0 to 1',
    mean_absolute_deviation Nullable(Float64) COMMENT 'Mean distance of the ratios from their mean, 0 to 1',
    free_cpus Nullable(Int64) COMMENT 'Free exclusive CPUs' CODEC(T64, LZ4),
    largest_fit_cpus Nullable(Int64) COMMENT 'Largest exclusive request that still fits one NUMA node' CODEC(T64, LZ4),
    stranded_cpus Nullable(Int64) COMMENT 'Free CPUs outside the NUMA node with most of them' CODEC(T64, LZ4),
    exclusive_cpus Nullable(Int64) COMMENT 'CPUs held exclusively' CODEC(T64, LZ4),
    allocatable_cpus Nullable(Int64) COMMENT 'CPUs minus reserved' CODEC(T64, LZ4),
    spanning_pods Int64 COMMENT 'Pods with a container whose CPUs are on several NUMA nodes' CODEC(T64, LZ4),
    nodes Int64 COMMENT '1, or for scope cluster the nodes whose numbers are known' CODEC(T64, LZ4),
    source LowCardinality(String) COMMENT 'Source that is believed',
    fidelity LowCardinality(String) COMMENT 'exact, count or none',
    assumed Array(String) COMMENT 'Facts that no source reports and Leadsman concluded',
    explanation String COMMENT 'What it means, for a person',
    cpu_manager_policy LowCardinality(String) COMMENT 'CPU manager policy; empty if no source reports it, and for scope cluster',
    topology_manager_policy LowCardinality(String) COMMENT 'Topology manager policy; empty if no source reports it',
    topology_manager_scope LowCardinality(String) COMMENT 'Topology manager scope: container or pod; empty if no source reports it',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, scope, node, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Distribution of exclusive CPUs over the NUMA nodes of a node, and on the nodes of a cluster; null if the source does not report it'
