-- Which nodes rejected many pods in a row, how many, and who created them
-- form refused_pods storm
-- shows node, condition, started_at, pods, owners
-- needs pods or events
-- events Evicted
-- newest
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param pods UInt32 2: storms of at least so many
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
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
    AND started_at >= {since:DateTime64(6)} AND started_at < {until:DateTime64(6)}
ORDER BY started_at, cluster, node, condition
