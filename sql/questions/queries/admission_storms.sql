-- Which nodes rejected many pods in a row, how many, and who created them
-- form refused_pods storm
-- shows node, condition, started_at, pods, owners
-- needs pods or events
-- newest
-- param cluster, node
-- param pods UInt32 2: storms of at least this many pods
-- param since, until
SELECT cluster, node, condition, started_at, ended_at, pods, namespaces, owners
FROM admission_storms
WHERE pods >= {pods:UInt32}
    AND {filters cluster, node}
    AND started_at >= {since:DateTime64(6)} AND started_at < {until:DateTime64(6)}
ORDER BY started_at, cluster, node, condition
