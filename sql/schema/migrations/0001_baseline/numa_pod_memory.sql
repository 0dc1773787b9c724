CREATE TABLE IF NOT EXISTS numa_pod_memory
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'Time of the sample' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    uid String COMMENT 'UID of the pod',
    numa_nodes Array(UInt16) COMMENT 'NUMA nodes that its memory is on',
    numa_bytes Array(Int64) COMMENT 'Anonymous memory and page cache in bytes, on each of them',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(ts)
ORDER BY (cluster, node, uid, ts)
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1
COMMENT 'NUMA nodes of the memory of each pod, once a minute, by its cgroup (v2), where the agent runs'
