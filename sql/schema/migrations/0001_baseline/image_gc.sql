CREATE TABLE IF NOT EXISTS image_gc
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'First occurrence of the episode' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    verdict LowCardinality(String) COMMENT 'benign_startup, restart_loop, persistent, insufficient_freed or recovered',
    result LowCardinality(String) COMMENT 'success, error, partial or noop',
    reason LowCardinality(String) COMMENT 'invalid_capacity, insufficient_freed, stats_error, delete_error, detect_error, runtime_error or unknown',
    usage_percent Nullable(Int64) COMMENT 'Disk usage of the image file system in percent' CODEC(T64, LZ4),
    high_percent Int64 COMMENT 'Usage in percent at which image GC begins' CODEC(T64, LZ4),
    low_percent Int64 COMMENT 'Usage in percent down to which it frees' CODEC(T64, LZ4),
    wanted_bytes Nullable(Int64) COMMENT 'Bytes that it wanted to free' CODEC(T64, LZ4),
    freed_bytes Nullable(Int64) COMMENT 'Bytes that it freed' CODEC(T64, LZ4),
    occurrences Int64 COMMENT 'How many times it happened in this episode' CODEC(T64, LZ4),
    occurrences_lower_bound UInt8 COMMENT '1 if the true number can be higher',
    last_at DateTime64(6, 'UTC') COMMENT 'Last occurrence of the episode' CODEC(Delta, ZSTD(1)),
    explanation String COMMENT 'What it means, for a person',
    settings_assumed UInt8 COMMENT '1 if no /configz was seen and the defaults 85 and 80 are used, or what a ConfigMap intends',
    updated_at DateTime64(6, 'UTC') COMMENT 'When the episode last changed; the version of this row' CODEC(Delta, ZSTD(1)),
    time_known UInt8 DEFAULT 1 COMMENT '0 if ts is a bound: of the age in pasted text, or of a log without year or zone',
    what String COMMENT 'The sentence of the story',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree(updated_at)
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, reason, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Episodes of image garbage collection that did not do its work, and recoveries'
