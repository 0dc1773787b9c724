CREATE TABLE IF NOT EXISTS pod_samples_5m
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'Beginning of the five minutes' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    namespace LowCardinality(String) COMMENT 'Namespace',
    pod String COMMENT 'Name of the pod',
    uid String COMMENT 'UID of the pod',
    first_at SimpleAggregateFunction(min, DateTime64(6, 'UTC')) COMMENT 'First sample in them',
    last_at SimpleAggregateFunction(max, DateTime64(6, 'UTC')) COMMENT 'Last sample in them',
    cpu_usage_nanocores_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: CPU use in nanocores',
    cpu_usage_core_nanoseconds_min SimpleAggregateFunction(min, Nullable(Int64)) COMMENT 'Lowest: CPU time used since start, in core-nanoseconds',
    cpu_usage_core_nanoseconds_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: CPU time used since start, in core-nanoseconds',
    memory_working_set_bytes_min SimpleAggregateFunction(min, Nullable(Int64)) COMMENT 'Lowest: Working set in bytes: usage minus inactive file pages',
    memory_working_set_bytes_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Working set in bytes: usage minus inactive file pages',
    ephemeral_used_bytes_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Local storage in bytes as the summary gives it for the whole pod',
    inodes_used_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Inodes as the summary gives them for the whole pod',
    processes_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Processes of the pod',
    swap_usage_bytes_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Swap in use, in bytes',
    landed_at SimpleAggregateFunction(max, DateTime) MATERIALIZED now() COMMENT 'When it was last stored; retention counts from here',
    memory_psi_some_total_nanoseconds_min SimpleAggregateFunction(min, Nullable(Int64)) COMMENT 'Lowest: Time in nanoseconds for which some task waited for memory, since boot (PSI)',
    memory_psi_some_total_nanoseconds_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Time in nanoseconds for which some task waited for memory, since boot (PSI)',
    memory_psi_full_total_nanoseconds_min SimpleAggregateFunction(min, Nullable(Int64)) COMMENT 'Lowest: Time in nanoseconds for which all tasks waited for memory, since boot (PSI)',
    memory_psi_full_total_nanoseconds_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Time in nanoseconds for which all tasks waited for memory, since boot (PSI)',
    io_psi_some_total_nanoseconds_min SimpleAggregateFunction(min, Nullable(Int64)) COMMENT 'Lowest: Time in nanoseconds for which some task waited for I/O, since boot (PSI)',
    io_psi_some_total_nanoseconds_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Time in nanoseconds for which some task waited for I/O, since boot (PSI)',
    io_psi_full_total_nanoseconds_min SimpleAggregateFunction(min, Nullable(Int64)) COMMENT 'Lowest: Time in nanoseconds for which all tasks waited for I/O, since boot (PSI)',
    io_psi_full_total_nanoseconds_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Time in nanoseconds for which all tasks waited for I/O, since boot (PSI)'
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, ts, namespace, pod, uid)
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1
COMMENT 'Five-minute roll-up of pod_samples: only aggregates that a repeated insert does not change'
