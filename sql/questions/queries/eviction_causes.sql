-- Why pods were evicted or rejected, how many, and who created them
-- group Evictions and pressure
-- shows node, cause, resource, pods, owners
-- needs pods or events
-- events Evicted
-- was admission_storms cause=admission
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param cause String '': only this cause, as pressure or admission; empty is all
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
SELECT
    cluster,
    node,
    cause,
    resource,
    signal,
    count() AS pods,
    min(ts) AS first_at,
    max(ts) AS last_at,
    countIf(evidence = 'status') AS without_an_event,
    arraySort(groupUniqArray(namespace)) AS namespaces,
    arraySort(groupUniqArrayIf(owner, owner != '')) AS owners
FROM pod_evictions
LEFT JOIN
(
    SELECT cluster, uid, any(if(owner_name = '', '', concat(owner_kind, '/', owner_name))) AS owner
    FROM pod_bindings
    WHERE (cluster, uid) IN (SELECT cluster, uid FROM evictions)
    GROUP BY cluster, uid
) AS o USING (cluster, uid)
WHERE ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
    AND ({cause:String} = '' OR cause = {cause:String})
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
GROUP BY cluster, node, cause, resource, signal
ORDER BY pods DESC, cluster, node, cause, resource, signal
