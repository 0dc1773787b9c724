CREATE TABLE IF NOT EXISTS node_leases
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    age_seconds Nullable(Float64) COMMENT 'How long before ts the kubelet had renewed it; null if that is unknown, or later than ts since clocks differ',
    duration_seconds Nullable(Int64) COMMENT 'Its leaseDurationSeconds: what is older than this is over; null if it has none',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'The Lease of each node that was not Ready, as it was looked at then'
