-- Pods that are still there ten minutes after their deletion was asked for, those for longest first
SELECT
    e.node AS node, e.namespace AS namespace, e.pod AS pod, e.ts AS since,
    if(e.owner_name = '', concat('Pod ', e.pod), concat(e.owner_kind, ' ', e.owner_name)) AS owner
FROM pod_ends AS e FINAL
WHERE e.cluster = {cluster:String} AND e.container = '' AND NOT e.deleted
    AND e.cause IN ('deleted', 'taint_manager', 'api_eviction', 'scheduler_preemption')
    AND e.ts < {until:DateTime64(6)} - toIntervalMinute(10)
    AND ({namespace:String} = '' OR e.namespace = {namespace:String})
    AND ({node:String} = '' OR e.node = {node:String})
    AND e.uid IN
    (
        SELECT uid
        FROM pod_bindings
        WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
        GROUP BY uid
        HAVING argMax(terminating, ts)
    )
ORDER BY since, node, namespace, pod
LIMIT 100000
