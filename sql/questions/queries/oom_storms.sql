-- Which workloads are OOM killed again and again, on how many nodes, and whether nodes or limits are the cause
-- group Pods
-- needs pods
SELECT cluster, namespace, owner, started_at, ended_at, kills, pods, nodes, first_nodes, system_ooms, cause
FROM oom_storms
ORDER BY ended_at DESC, cluster, namespace, owner
