-- How many volumes the pods of each node use, and how many it can attach, by driver
-- group Scheduling
-- shows node, driver, volumes, attachable
-- needs nodes, pods
-- param cluster, node
SELECT
    p.cluster AS cluster, p.node AS node,
    JSONExtractString(v.facts, 'driver') AS driver,
    uniqExact(if(JSONHas(v.facts, 'handle'), JSONExtractString(v.facts, 'handle'), v.name)) AS volumes,
    any(if(mapContains(k.limits, driver), k.limits[driver], NULL)) AS attachable
FROM (
    SELECT cluster, namespace, node, change, arrayJoin(JSONExtract(constraints, 'claimed', 'Array(Tuple(String, String, Bool))')).2 AS claim
    FROM (
        SELECT cluster, namespace, node, change, constraints
        FROM pod_bindings FINAL
        ORDER BY ts DESC
        LIMIT 1 BY cluster, namespace, pod, uid
    )
    WHERE change IN ('bound', 'updated')
) AS p
INNER JOIN (
    SELECT cluster, namespace, name, JSONExtractString(facts, 'volume') AS volume
    FROM scheduled_now
    WHERE resource = 'persistentvolumeclaims'
) AS c ON c.cluster = p.cluster AND c.namespace = p.namespace AND c.name = p.claim
INNER JOIN (SELECT cluster, name, facts FROM scheduled_now WHERE resource = 'persistentvolumes') AS v
    ON v.cluster = c.cluster AND v.name = c.volume
LEFT JOIN (
    SELECT cluster, name, JSONExtract(facts, 'limits', 'Map(String, Int64)') AS limits
    FROM scheduled_now
    WHERE resource = 'csinodes'
) AS k ON k.cluster = p.cluster AND k.name = p.node
WHERE JSONHas(v.facts, 'driver')
    AND ({cluster:String} = '' OR p.cluster = {cluster:String})
    AND ({node:String} = '' OR p.node = {node:String})
GROUP BY cluster, node, driver
ORDER BY cluster, node, driver
