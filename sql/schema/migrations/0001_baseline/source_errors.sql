CREATE TABLE IF NOT EXISTS source_errors
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was reported' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'The node whose kubelet was asked; empty for the API server',
    resource LowCardinality(String) COMMENT 'The resource that was read: nodes, pods, events, stats/summary, ...',
    kind LowCardinality(String) COMMENT 'silent (for too long); gap (changes may have been missed); behind (Kafka will delete messages before they are read); partial (later conclusions lack entries of a state); unreadable',
    silent_seconds Nullable(Float64) COMMENT 'Seconds since it was last heard; null if it is not silent',
    error String COMMENT 'What the source said',
    entries Nullable(Int64) COMMENT 'How many entries of a state had no room; null if the kind is not partial',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, resource, kind, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Streams that could not be read, were silent, or may have missed something'
