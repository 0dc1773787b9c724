CREATE TABLE IF NOT EXISTS machine_memory
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'Time of the sample' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    total_bytes Int64 COMMENT 'MemTotal in bytes: what the kernel manages' CODEC(T64, LZ4),
    free_bytes Int64 COMMENT 'MemFree in bytes: what nothing uses' CODEC(T64, LZ4),
    available_bytes Int64 COMMENT 'MemAvailable in bytes: what the kernel expects to give without swapping' CODEC(T64, LZ4),
    buffers_bytes Int64 COMMENT 'Buffers in bytes: page cache of block devices' CODEC(T64, LZ4),
    cached_bytes Int64 COMMENT 'Cached in bytes: page cache of files, and shared memory' CODEC(T64, LZ4),
    swap_cached_bytes Int64 COMMENT 'SwapCached in bytes: read back from swap, and still there' CODEC(T64, LZ4),
    anonymous_bytes Int64 COMMENT 'AnonPages in bytes: memory of processes that no file has' CODEC(T64, LZ4),
    active_file_bytes Int64 COMMENT 'Active(file) in bytes: page cache in use' CODEC(T64, LZ4),
    inactive_file_bytes Int64 COMMENT 'Inactive(file) in bytes: page cache that is taken first' CODEC(T64, LZ4),
    reclaimable_slab_bytes Int64 COMMENT 'SReclaimable in bytes: caches of the kernel that it can give back' CODEC(T64, LZ4),
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(ts)
ORDER BY (cluster, node, ts)
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1
COMMENT 'Memory of each machine once a minute, as its /proc/meminfo has it, where the agent runs'
