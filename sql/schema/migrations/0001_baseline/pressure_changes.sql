CREATE TABLE IF NOT EXISTS pressure_changes
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When the condition changed' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    condition LowCardinality(String) COMMENT 'MemoryPressure, DiskPressure or PIDPressure',
    status UInt8 COMMENT '1 under pressure, 0 no more',
    lasted_seconds Nullable(Float64) COMMENT 'How long the state that ended had lasted in seconds; null if its beginning was not seen',
    kubelet_restart UInt8 COMMENT '1 if it is only the trio of events that every start of a kubelet emits',
    evidence LowCardinality(String) COMMENT 'Its source',
    updated_at DateTime64(6, 'UTC') COMMENT 'When the last witness was seen; the version of this row' CODEC(Delta, ZSTD(1)),
    time_known UInt8 DEFAULT 1 COMMENT '0 if ts is a bound: of the age in pasted text, or of a log without year or zone',
    what String COMMENT 'The sentence of the story',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree(updated_at)
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, condition, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Changes of the pressure conditions of nodes'
