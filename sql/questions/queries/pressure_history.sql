-- When each node was under pressure, and for how long
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
