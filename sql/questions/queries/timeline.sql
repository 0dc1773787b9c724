-- What happened on a node, in order
-- group What happened
-- newest
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
SELECT ts, node, what, subject, detail
FROM
(
    SELECT cluster, ts, node, concat('event ', reason) AS what, concat(object_kind, ' ', object_name) AS subject, message AS detail
    FROM node_events
    UNION ALL
    SELECT cluster, ts, node, concat('evicted: ', cause) AS what, concat(namespace, '/', pod) AS subject, message AS detail
    FROM pod_evictions
    UNION ALL
    SELECT
        cluster,
        ts,
        node,
        concat(condition, if(status, ' begins', ' ends')) AS what,
        node AS subject,
        multiIf(kubelet_restart, 'a start of the kubelet, no change', lasted_seconds IS NULL, '', concat('after ', toString(round(assumeNotNull(lasted_seconds))), ' s')) AS detail
    FROM pressure_changes
    UNION ALL
    SELECT cluster, ts, node, concat('image GC: ', verdict) AS what, node AS subject, explanation AS detail
    FROM image_gc
    UNION ALL
    SELECT cluster, ts, node, concat('pod ', change) AS what, concat(namespace, '/', pod) AS subject, concat(phase, ' ', reason) AS detail
    FROM pod_bindings
)
WHERE ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND ({node:String} = '' OR node = {node:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
ORDER BY ts, node, what, subject, detail
