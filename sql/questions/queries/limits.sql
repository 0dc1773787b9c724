-- How far the limits of each node's pods go beyond its allocatable, and how many pods have none
-- group Nodes
-- needs requests
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT
    f.cluster AS cluster,
    f.node AS node,
    f.resource AS resource,
    f.allocatable AS allocatable,
    f.requested AS requested,
    toInt64(if(resource = 'cpu', g.cpu, g.memory)) AS limits,
    round(100 * limits / f.allocatable) AS limits_percent,
    if(resource = 'cpu', g.without_cpu, g.without_memory) AS pods_without_limit
FROM node_fit_latest AS f
INNER JOIN
(
    SELECT
        cluster,
        node,
        sum(coalesce(cpu_quota_microseconds, 0)) / 100 AS cpu,
        sum(coalesce(memory_limit_bytes, 0)) AS memory,
        countIf(cpu_quota_microseconds IS NULL) AS without_cpu,
        countIf(memory_limit_bytes IS NULL) AS without_memory
    FROM pod_cgroups
    GROUP BY cluster, node
) AS g ON g.cluster = f.cluster AND g.node = f.node
WHERE f.resource IN ('cpu', 'memory') AND f.allocatable > 0 AND ({node:String} = '' OR f.node = {node:String})
    AND ({cluster:String} = '' OR f.cluster = {cluster:String})
ORDER BY limits_percent DESC, cluster, node, resource
