-- What kubelets wrote about the pods that they refused, by reason, node, namespace, and who refused them over what, the last first
SELECT
    if(r.refused_by = 'node_pressure', r.conditions, r.reason) AS reason,
    r.node AS node, r.namespace AS namespace, r.refused_by AS refused_by, r.resource AS resource,
    argMax((r.explanation, r.message), (r.ts, r.uid)) AS last,
    last.1 AS explanation, last.2 AS message,
    argMaxIf((r.resource, ifNull(r.api_free, 0), ifNull(r.api_allocatable, 0)), (r.ts, r.uid), r.is_contradicted) AS contradiction,
    max(r.is_contradicted) AS is_contradicted, max(r.ts) AS last_at
FROM refused_pods AS r
WHERE r.cluster = {cluster:String} AND r.ts >= {since:DateTime64(6)} AND r.ts < {until:DateTime64(6)}
    AND ({namespace:String} = '' OR r.namespace = {namespace:String})
    AND ({node:String} = '' OR r.node = {node:String})
GROUP BY if(r.refused_by = 'node_pressure', r.conditions, r.reason), r.node, r.namespace, r.refused_by, r.resource
ORDER BY last_at DESC, node, namespace, reason, refused_by, resource
LIMIT 1000
