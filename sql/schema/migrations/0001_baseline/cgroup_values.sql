CREATE TABLE IF NOT EXISTS cgroup_values
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    uid String COMMENT 'UID of the pod; of a static pod the hash of its file',
    container String COMMENT 'Id of a container or of the sandbox; empty for the cgroup of the pod',
    cgroup String COMMENT 'Path of the cgroup' CODEC(ZSTD(1)),
    cpu_shares Nullable(Int64) COMMENT 'cpu.shares of cgroup v1; null if it is not known' CODEC(T64, LZ4),
    cpu_weight Nullable(Int64) COMMENT 'cpu.weight of cgroup v2; null if it is not known' CODEC(T64, LZ4),
    cpu_quota_microseconds Nullable(Int64) COMMENT 'CPU time in microseconds of each period that it may use; -1 without a limit, null if it is not known' CODEC(T64, LZ4),
    cpu_period_microseconds Nullable(Int64) COMMENT 'Period of its CPU quota in microseconds; null if it is not known' CODEC(T64, LZ4),
    memory_limit_bytes Nullable(Int64) COMMENT 'Memory limit in bytes; -1 without a limit, null if it is not known' CODEC(T64, LZ4),
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(ts)
ORDER BY (cluster, node, ts, uid, container)
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1
COMMENT 'Values of the cgroups of pods, containers and sandboxes: all of a node when one changes, and every 10 minutes, where the agent runs'
