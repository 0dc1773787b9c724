CREATE OR REPLACE VIEW pod_history AS
SELECT
    cluster,
    ts,
    node,
    namespace,
    pod,
    uid,
    first_at,
    last_at,
    cpu_usage_nanocores_max,
    cpu_usage_core_nanoseconds_min,
    cpu_usage_core_nanoseconds_max,
    memory_working_set_bytes_min,
    memory_working_set_bytes_max,
    ephemeral_used_bytes_max,
    inodes_used_max,
    processes_max,
    swap_usage_bytes_max,
    memory_psi_some_total_nanoseconds_min,
    memory_psi_some_total_nanoseconds_max,
    memory_psi_full_total_nanoseconds_min,
    memory_psi_full_total_nanoseconds_max,
    io_psi_some_total_nanoseconds_min,
    io_psi_some_total_nanoseconds_max,
    io_psi_full_total_nanoseconds_min,
    io_psi_full_total_nanoseconds_max
FROM pod_samples_5m FINAL
COMMENT 'The roll-up of a pod, a row for each five minutes: kept longer than its samples'
