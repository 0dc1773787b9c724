-- Why pods were evicted or rejected, and how many
-- group Evictions and pressure
-- needs pods or events
-- events Evicted
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT
    cluster,
    node,
    cause,
    resource,
    signal,
    count() AS pods,
    min(ts) AS first_at,
    max(ts) AS last_at,
    countIf(evidence = 'status') AS without_an_event
FROM pod_evictions
WHERE ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
GROUP BY cluster, node, cause, resource, signal
ORDER BY pods DESC, cluster, node, cause, resource, signal
