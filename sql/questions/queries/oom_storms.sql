-- Which workloads are OOM killed again and again, on how many nodes, and whether nodes or limits are the cause
-- group Pods
-- shows ended_at, namespace, owner, kills, nodes, cause
-- needs pods
-- events OOMKilling, SystemOOM
-- param cluster, since, until
SELECT cluster, namespace, owner, started_at, ended_at, kills, pods, nodes, first_nodes, system_ooms, cause
FROM oom_storms
WHERE {filters cluster} AND ended_at >= {since:DateTime64(6)} AND ended_at < {until:DateTime64(6)}
ORDER BY ended_at DESC, cluster, namespace, owner
