CREATE TABLE IF NOT EXISTS node_events
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it last occurred, by the times of the Event itself' CODEC(Delta, ZSTD(1)),
    observed_at DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'The node that it concerns, or empty',
    namespace LowCardinality(String) COMMENT 'Namespace of the Event',
    name String COMMENT 'Name of the Event object',
    object_kind LowCardinality(String) COMMENT 'Kind of the object that it is about',
    object_name String COMMENT 'Name of the object that it is about',
    object_uid String COMMENT 'UID of that object; for a node often its name',
    reason LowCardinality(String) COMMENT 'Reason of the Event',
    type LowCardinality(String) COMMENT 'Normal or Warning',
    message String COMMENT 'Message of the Event',
    count Int64 COMMENT 'The count that the Event itself has' CODEC(T64, LZ4),
    occurrences Int64 COMMENT 'How many occurrences this observation adds' CODEC(T64, LZ4),
    occurrences_lower_bound UInt8 COMMENT '1 if the true number can be higher',
    component LowCardinality(String) COMMENT 'Component that reported it',
    time_known UInt8 DEFAULT 1 COMMENT '0 if ts is a bound, because pasted text has no more than the age of an Event',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, ts, namespace, name, count)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Every state of every Event that was seen, of any object'
