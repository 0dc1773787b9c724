CREATE MATERIALIZED VIEW IF NOT EXISTS pod_samples_5m_feed TO pod_samples_5m AS
SELECT
    s.cluster AS cluster,
    toStartOfInterval(s.ts, toIntervalMinute(5)) AS ts,
    s.node AS node,
    s.namespace AS namespace,
    s.pod AS pod,
    s.uid AS uid,
    min(s.ts) AS first_at,
    max(s.ts) AS last_at,
    max(s.cpu_usage_nanocores) AS cpu_usage_nanocores_max,
    min(s.cpu_usage_core_nanoseconds) AS cpu_usage_core_nanoseconds_min,
    max(s.cpu_usage_core_nanoseconds) AS cpu_usage_core_nanoseconds_max,
    min(s.memory_working_set_bytes) AS memory_working_set_bytes_min,
    max(s.memory_working_set_bytes) AS memory_working_set_bytes_max,
    max(s.ephemeral_used_bytes) AS ephemeral_used_bytes_max,
    max(s.inodes_used) AS inodes_used_max,
    max(s.processes) AS processes_max,
    max(s.swap_usage_bytes) AS swap_usage_bytes_max
FROM pod_samples AS s
GROUP BY s.cluster, toStartOfInterval(s.ts, toIntervalMinute(5)), s.node, s.namespace, s.pod, s.uid
