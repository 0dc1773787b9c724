CREATE TABLE IF NOT EXISTS numa_resources
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    numa_node Int64 COMMENT 'Number of the NUMA node' CODEC(T64, LZ4),
    resource LowCardinality(String) COMMENT 'Resource: memory, hugepages or a device',
    capacity Int64 COMMENT 'Capacity in base units' CODEC(T64, LZ4),
    allocatable Int64 COMMENT 'Allocatable in base units' CODEC(T64, LZ4),
    available Nullable(Int64) COMMENT 'Available in base units; null if the source does not report it' CODEC(T64, LZ4),
    cells Array(UInt16) COMMENT 'Group of NUMA nodes that a container spans in memory; empty if the source has none',
    source LowCardinality(String) COMMENT 'Source that reports it',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, numa_node, resource, source, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Memory and devices by NUMA node'
