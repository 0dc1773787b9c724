-- Which image GC, eviction and CPU settings each kubelet has
-- group Nodes
-- needs configz
SELECT
    cluster,
    node,
    ts AS seen_at,
    image_gc_high_percent,
    image_gc_low_percent,
    eviction_hard,
    eviction_soft,
    eviction_soft_grace_seconds,
    eviction_minimum_reclaim,
    eviction_pressure_transition_seconds,
    cpu_manager_policy,
    topology_manager_policy,
    reserved_cpus
FROM kubelet_settings
ORDER BY ts DESC
LIMIT 1 BY cluster, node
