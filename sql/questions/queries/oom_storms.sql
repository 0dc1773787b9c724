-- Which workloads are OOM killed again and again, on how many nodes, and whether nodes or limits are the cause
-- group Pods
-- needs pods
-- events OOMKilling, SystemOOM
-- param cluster String '': only this cluster; empty is all
SELECT cluster, namespace, owner, started_at, ended_at, kills, pods, nodes, first_nodes, system_ooms, cause
FROM oom_storms
WHERE ({cluster:String} = '' OR cluster = {cluster:String})
ORDER BY ended_at DESC, cluster, namespace, owner
