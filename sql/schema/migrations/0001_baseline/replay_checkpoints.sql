CREATE TABLE IF NOT EXISTS replay_checkpoints
(
    cluster String COMMENT 'Name of the cluster',
    kind LowCardinality(String) COMMENT 'state (of a log\'s analytics) or seen (digests of an hour\'s observations)',
    key String COMMENT 'Node of the log, or hour since 1970',
    written UInt64 COMMENT 'Grows with each write; the version of this row',
    value String COMMENT 'Bytes that only Leadsman reads' CODEC(ZSTD(3))
)
ENGINE = ReplacingMergeTree(written)
ORDER BY (cluster, kind, key)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Position at which the embedded replay continues; not a finding, and not in a digest'
