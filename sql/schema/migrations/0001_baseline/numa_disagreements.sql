CREATE TABLE IF NOT EXISTS numa_disagreements
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it began' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    numa_node Int64 COMMENT 'Number of the NUMA node; -1 if the whole node is compared' CODEC(T64, LZ4),
    source_a LowCardinality(String) COMMENT 'The source that is believed',
    value_a Int64 COMMENT 'Exclusive CPUs by that source' CODEC(T64, LZ4),
    source_b LowCardinality(String) COMMENT 'The other source',
    value_b Int64 COMMENT 'Exclusive CPUs by the other' CODEC(T64, LZ4),
    explanation String COMMENT 'What it means, for a person',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, numa_node, source_a, source_b, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Sources that report different numbers of exclusive CPUs'
