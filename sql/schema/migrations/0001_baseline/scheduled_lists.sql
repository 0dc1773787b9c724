CREATE TABLE IF NOT EXISTS scheduled_lists
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When the list was complete' CODEC(Delta, ZSTD(1)),
    resource LowCardinality(String) COMMENT 'What was listed, as in scheduled_objects',
    after String COMMENT 'A part of the list: only UIDs greater than this one are in it',
    until String COMMENT 'And none greater than this one; empty for the last part',
    uids Array(String) COMMENT 'What was there' CODEC(ZSTD(1)),
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, resource, after, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Complete lists of what is in scheduled_objects: what a list lacks was gone by then, though nobody saw it go'
