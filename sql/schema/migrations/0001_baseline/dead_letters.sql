CREATE TABLE IF NOT EXISTS dead_letters
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed; 1970-01-01 where that could not be read' CODEC(Delta, ZSTD(1)),
    source LowCardinality(String) COMMENT 'File or topic that it came from',
    position String COMMENT 'File and line, or topic, partition and offset',
    error_type LowCardinality(String) COMMENT 'Kind of the error, of a bounded vocabulary',
    reason LowCardinality(String) COMMENT 'What is wrong with it',
    payload String COMMENT 'The first 64 KiB of what was received, as text',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, ts, error_type, sipHash64(payload))
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Records that could not be decoded or made no sense'
