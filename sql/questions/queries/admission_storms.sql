-- Which nodes rejected pods one after the other, how many, and who created them
-- group Evictions and pressure
-- needs pods or events
-- events Evicted
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param pods UInt32 2: storms of at least so many
SELECT
    cluster,
    node,
    condition,
    started_at,
    ended_at,
    pods,
    namespaces,
    owners
FROM admission_storms
WHERE pods >= {pods:UInt32}
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY started_at, cluster, node, condition
