-- Which pods stand still for memory or I/O now, or swap
-- group Pods
-- needs samples, psi
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param percent Float64 1: at least this share of the time
SELECT
    cluster, node, namespace, pod, round(memory_some_percent, 1) AS memory_some_percent, round(memory_full_percent, 1) AS memory_full_percent,
    round(io_some_percent, 1) AS io_some_percent, round(io_full_percent, 1) AS io_full_percent, swap_usage_bytes,
    round(major_faults_per_second, 1) AS major_faults_per_second, round(window_seconds) AS window_seconds, ts
FROM pod_stalls
WHERE ({node:String} = '' OR node = {node:String})
    AND (greatest(coalesce(pod_stalls.memory_some_percent, 0), coalesce(pod_stalls.io_some_percent, 0)) >= {percent:Float64} OR swap_usage_bytes > 0)
    AND ({cluster:String} = '' OR cluster = {cluster:String})
ORDER BY pod_stalls.memory_full_percent DESC NULLS LAST, pod_stalls.io_full_percent DESC NULLS LAST, swap_usage_bytes DESC NULLS LAST, cluster, node, namespace, pod
