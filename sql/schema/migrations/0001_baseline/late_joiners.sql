CREATE TABLE IF NOT EXISTS late_joiners
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'Begin of the minute that it sums up' CODEC(Delta, ZSTD(1)),
    verdict LowCardinality(String) COMMENT 'late_joiners_emptier, even or inconclusive',
    rank_correlation Nullable(Float64) COMMENT 'Rank correlation of age and allocation, -1 to 1',
    gap_ratio Nullable(Float64) COMMENT 'Ratio of the oldest group minus that of the youngest, -1 to 1',
    nodes Int64 COMMENT 'Nodes whose numbers are known' CODEC(T64, LZ4),
    oldest_nodes Array(String) COMMENT 'The oldest group of nodes',
    oldest_created_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When the oldest group joined' CODEC(Delta, ZSTD(1)),
    oldest_ratio Nullable(Float64) COMMENT 'Exclusive of allocatable CPUs of the oldest group, 0 to 1',
    youngest_nodes Array(String) COMMENT 'The youngest group of nodes',
    youngest_created_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When the youngest group joined' CODEC(Delta, ZSTD(1)),
    youngest_ratio Nullable(Float64) COMMENT 'Exclusive of allocatable CPUs of the youngest group, 0 to 1',
    free_cpus Int64 COMMENT 'Free exclusive CPUs of the cluster' CODEC(T64, LZ4),
    largest_fit_cpus Int64 COMMENT 'Largest exclusive request that fits one NUMA node of the cluster' CODEC(T64, LZ4),
    explanation String COMMENT 'What it means, for a person',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Comparison of nodes that joined at different times: later ones may be emptier'
