-- When each node was under pressure, and for how long
-- group Evictions and pressure
-- needs nodes
-- events NodeHasDiskPressure, NodeHasInsufficientMemory, NodeHasInsufficientPID
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
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
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY ts, cluster, node, condition
