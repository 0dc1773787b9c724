CREATE TABLE IF NOT EXISTS numa_usage
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'Time of the sample' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    numa_node Int64 COMMENT 'Id of the NUMA node' CODEC(T64, LZ4),
    memory_total_bytes Int64 COMMENT 'Memory in bytes' CODEC(T64, LZ4),
    memory_free_bytes Int64 COMMENT 'Memory in bytes that nothing uses, page cache neither' CODEC(T64, LZ4),
    hugepages_total_bytes Int64 COMMENT 'Huge pages of all sizes, in bytes' CODEC(T64, LZ4),
    hugepages_free_bytes Int64 COMMENT 'Free huge pages, in bytes' CODEC(T64, LZ4),
    cpu_busy_ratio Nullable(Float64) COMMENT 'Share of the time since the sample before in which its CPUs worked, 0..1; null at the first',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(ts)
ORDER BY (cluster, node, numa_node, ts)
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1
COMMENT 'Use of each NUMA node once a minute, where the agent runs'
