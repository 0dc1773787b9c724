-- Which ready nodes get no pods while others do; pods of DaemonSets and static pods do not count
-- group Scheduling
-- shows node, created_at, last_bound_at, nodes_with_new_pods, new_pods
-- needs nodes, pods
-- param cluster
-- param minutes UInt32 30: within this many minutes before the last observation of the cluster
SELECT
    n.cluster AS cluster, n.node AS node, n.zone_key AS zone_key, n.created_at AS created_at,
    p.last_bound_at AS last_bound_at, others.nodes AS nodes_with_new_pods, others.pods AS new_pods
FROM (SELECT * FROM nodes ORDER BY ts DESC LIMIT 1 BY cluster, node) AS n
INNER JOIN (
    SELECT
        b.cluster AS cluster, uniqExact(b.node) AS nodes, count() AS pods, any(seen.last_at) AS last_at,
        groupUniqArray(b.node) AS names
    FROM pod_bindings AS b
    INNER JOIN (SELECT cluster, max(ts) AS last_at FROM pod_bindings GROUP BY cluster) AS seen ON b.cluster = seen.cluster
    WHERE b.change = 'bound' AND b.owner_kind NOT IN {not_placed} AND b.ts > seen.last_at - toIntervalMinute({minutes:UInt32})
    GROUP BY b.cluster
) AS others ON n.cluster = others.cluster
LEFT JOIN (
    SELECT cluster, node, toNullable(max(ts)) AS last_bound_at
    FROM pod_bindings
    WHERE change = 'bound' AND owner_kind NOT IN {not_placed}
    GROUP BY cluster, node
) AS p ON n.cluster = p.cluster AND n.node = p.node
WHERE NOT n.deleted AND n.ready = 1 AND NOT n.unschedulable AND NOT has(others.names, n.node)
    AND ({cluster:String} = '' OR n.cluster = {cluster:String})
ORDER BY cluster, node
