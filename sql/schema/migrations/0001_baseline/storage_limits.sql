CREATE TABLE IF NOT EXISTS storage_limits
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When they were first seen' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    namespace LowCardinality(String) COMMENT 'Namespace',
    pod String COMMENT 'Name of the pod',
    uid String COMMENT 'UID of the pod',
    ephemeral_limit_bytes Nullable(Int64) COMMENT 'Limit in bytes of its containers together, over which it is evicted; null if none has one',
    log_limit_bytes Nullable(Int64) COMMENT 'What rotation leaves of its logs in bytes; null if no /configz was seen, or no container has run',
    volume_limits Map(String, Int64) COMMENT 'sizeLimit in bytes of each emptyDir on disk that has one, over which the pod is evicted',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, uid, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'The disk that each pod may use on its node, when it was first seen and when it changed'
