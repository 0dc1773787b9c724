-- Which CPU shares, weights, quotas and memory limits pods get, and their share of a busy node
-- group Pods
-- shows node, pod, cpu_request_millicores, cpu_percent, cpu_quota_microseconds, memory_limit_bytes
-- needs pods
-- param cluster, node
SELECT
    cluster, node, namespace, pod, qos_class, cpu_request_millicores, cpu_shares, cpu_percent, cpu_weight,
    runtime_cpu_weight, cpu_quota_microseconds, cpu_period_microseconds, memory_limit_bytes, qos_cpu_shares, cgroup
FROM pod_cgroups
WHERE {filters node, cluster}
ORDER BY cluster, node, namespace, pod
