CREATE TABLE IF NOT EXISTS pod_samples
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    namespace LowCardinality(String) COMMENT 'Namespace',
    pod String COMMENT 'Name of the pod',
    uid String COMMENT 'UID of the pod',
    cpu_usage_nanocores Nullable(Int64) COMMENT 'CPU use in nanocores' CODEC(T64, LZ4),
    cpu_usage_core_nanoseconds Nullable(Int64) COMMENT 'CPU time used since start, in core-nanoseconds' CODEC(T64, LZ4),
    memory_usage_bytes Nullable(Int64) COMMENT 'Memory use with caches, in bytes' CODEC(T64, LZ4),
    memory_working_set_bytes Nullable(Int64) COMMENT 'Working set in bytes: usage minus inactive file pages' CODEC(T64, LZ4),
    memory_rss_bytes Nullable(Int64) COMMENT 'Anonymous memory in bytes' CODEC(T64, LZ4),
    memory_page_faults Nullable(Int64) COMMENT 'Page faults since start' CODEC(T64, LZ4),
    memory_major_page_faults Nullable(Int64) COMMENT 'Major page faults since start' CODEC(T64, LZ4),
    ephemeral_used_bytes Nullable(Int64) COMMENT 'Local storage in bytes as the summary gives it for the whole pod' CODEC(T64, LZ4),
    inodes_used Nullable(Int64) COMMENT 'Inodes as the summary gives them for the whole pod' CODEC(T64, LZ4),
    rootfs_used_bytes Int64 COMMENT 'Writable layers of its containers in bytes' CODEC(T64, LZ4),
    rootfs_inodes_used Int64 COMMENT 'Inodes of the writable layers of its containers' CODEC(T64, LZ4),
    logs_used_bytes Int64 COMMENT 'Logs of its containers in bytes' CODEC(T64, LZ4),
    logs_inodes_used Int64 COMMENT 'Inodes of the logs of its containers' CODEC(T64, LZ4),
    volumes_used_bytes Int64 COMMENT 'Local volumes in bytes, as the eviction manager counts them' CODEC(T64, LZ4),
    volumes_inodes_used Int64 COMMENT 'Inodes of local volumes, as the eviction manager counts them' CODEC(T64, LZ4),
    processes Nullable(Int64) COMMENT 'Processes of the pod' CODEC(T64, LZ4),
    swap_usage_bytes Nullable(Int64) COMMENT 'Swap in use, in bytes' CODEC(T64, LZ4),
    cpu_psi_some_total_nanoseconds Nullable(Int64) COMMENT 'Time in nanoseconds for which some task waited for CPU, since boot (PSI)' CODEC(T64, LZ4),
    cpu_psi_some_avg10_percent Nullable(Float64) COMMENT 'Share of the last 10 s in percent for which some task waited for CPU (PSI)',
    cpu_psi_full_total_nanoseconds Nullable(Int64) COMMENT 'Time in nanoseconds for which all tasks waited for CPU, since boot (PSI)' CODEC(T64, LZ4),
    cpu_psi_full_avg10_percent Nullable(Float64) COMMENT 'Share of the last 10 s in percent for which all tasks waited for CPU (PSI)',
    memory_psi_some_total_nanoseconds Nullable(Int64) COMMENT 'Time in nanoseconds for which some task waited for memory, since boot (PSI)' CODEC(T64, LZ4),
    memory_psi_some_avg10_percent Nullable(Float64) COMMENT 'Share of the last 10 s in percent for which some task waited for memory (PSI)',
    memory_psi_full_total_nanoseconds Nullable(Int64) COMMENT 'Time in nanoseconds for which all tasks waited for memory, since boot (PSI)' CODEC(T64, LZ4),
    memory_psi_full_avg10_percent Nullable(Float64) COMMENT 'Share of the last 10 s in percent for which all tasks waited for memory (PSI)',
    io_psi_some_total_nanoseconds Nullable(Int64) COMMENT 'Time in nanoseconds for which some task waited for I/O, since boot (PSI)' CODEC(T64, LZ4),
    io_psi_some_avg10_percent Nullable(Float64) COMMENT 'Share of the last 10 s in percent for which some task waited for I/O (PSI)',
    io_psi_full_total_nanoseconds Nullable(Int64) COMMENT 'Time in nanoseconds for which all tasks waited for I/O, since boot (PSI)' CODEC(T64, LZ4),
    io_psi_full_avg10_percent Nullable(Float64) COMMENT 'Share of the last 10 s in percent for which all tasks waited for I/O (PSI)',
    volumes String COMMENT 'Volumes as name:bytes:inodes, separated by commas, without those of claims',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(ts)
ORDER BY (cluster, node, ts, namespace, pod, uid)
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1
COMMENT 'Statistics of a pod from /stats/summary; null if missing'
