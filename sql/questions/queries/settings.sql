-- Which image GC, eviction and CPU settings each kubelet has
-- group Nodes
-- shows node, eviction_hard, eviction_soft
-- needs configz
-- param cluster, node
SELECT
    cluster, node, ts AS seen_at, image_gc_high_percent, image_gc_low_percent, eviction_hard, eviction_soft,
    eviction_soft_grace_seconds, eviction_minimum_reclaim, eviction_pressure_transition_seconds,
    eviction_max_pod_grace_seconds, cpu_manager_policy, memory_manager_policy, topology_manager_policy,
    topology_manager_scope, reserved_cpus, system_reserved, kube_reserved, enforce_node_allocatable,
    system_reserved_cgroup, kube_reserved_cgroup, cgroup_driver, max_pods, pod_pids_limit, cpu_quota_enforced,
    cpu_quota_period_seconds, intended_by
FROM kubelet_settings
WHERE {filters cluster, node}
ORDER BY cluster, node, ts DESC
LIMIT 1 BY cluster, node
