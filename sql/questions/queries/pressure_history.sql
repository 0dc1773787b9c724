-- When each node was under pressure, and for how long
-- group Evictions and pressure
-- needs nodes
SELECT
    cluster,
    ts,
    node,
    condition,
    status,
    lasted_seconds,
    evidence
FROM pressure_changes
WHERE NOT kubelet_restart
ORDER BY ts, cluster, node, condition
