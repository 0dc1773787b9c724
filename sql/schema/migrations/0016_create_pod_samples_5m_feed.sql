CREATE MATERIALIZED VIEW IF NOT EXISTS pod_samples_5m_feed TO pod_samples_5m AS
SELECT
    s.cluster AS cluster,
    toStartOfInterval(s.ts, toIntervalMinute(5)) AS ts,
    s.node AS node,
    s.namespace AS namespace,
    s.pod AS pod,
    s.uid AS uid,
    s.ts AS first_at,
    s.ts AS last_at,
    s.cpu_usage_nanocores AS cpu_usage_nanocores_max,
    s.cpu_usage_core_nanoseconds AS cpu_usage_core_nanoseconds_min,
    s.cpu_usage_core_nanoseconds AS cpu_usage_core_nanoseconds_max,
    s.memory_working_set_bytes AS memory_working_set_bytes_min,
    s.memory_working_set_bytes AS memory_working_set_bytes_max,
    s.ephemeral_used_bytes AS ephemeral_used_bytes_max,
    s.inodes_used AS inodes_used_max,
    s.processes AS processes_max,
    s.swap_usage_bytes AS swap_usage_bytes_max
FROM pod_samples AS s
