CREATE TABLE IF NOT EXISTS node_stalls
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'Time of the sample' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    memory_some_percent Nullable(Float64) COMMENT 'Time of the window in percent for which some task waited for memory (PSI); null if it is unknown',
    memory_full_percent Nullable(Float64) COMMENT 'Time of the window in percent for which all tasks waited for memory (PSI); null if it is unknown',
    io_some_percent Nullable(Float64) COMMENT 'Time of the window in percent for which some task waited for I/O (PSI); null if it is unknown',
    io_full_percent Nullable(Float64) COMMENT 'Time of the window in percent for which all tasks waited for I/O (PSI); null if it is unknown',
    swap_usage_bytes Nullable(Int64) COMMENT 'Swap in use, in bytes; null if it is unknown',
    swap_available_bytes Nullable(Int64) COMMENT 'Swap that is free, in bytes; null if it is unknown',
    major_faults_per_second Nullable(Float64) COMMENT 'Pages a second that were read from disk, from swap too; null if it is unknown',
    window_seconds Float64 COMMENT 'Length of the window before ts, at most a minute',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(ts)
ORDER BY (cluster, node, ts)
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1
COMMENT 'Stalls of a node on memory or I/O, and its swap. Only samples with a share of 1 percent or with swapping, and the first one after'
