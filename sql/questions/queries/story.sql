-- What happened, in words and in order of time
-- group What happened
-- shows ts, node, what
-- newest
-- was timeline all=1
-- param cluster, node
-- param namespace String '': only pods of this namespace; empty is all
-- param since, until
-- param all UInt8 0: 1 also shows every Event and pod change
SELECT ts, cluster, node, kind, what
FROM (
    SELECT ts, cluster, node, kind, what, namespaces
    FROM story
    UNION ALL
    SELECT
        ts, cluster, node, 'event' AS kind, {event_seen} AS what,
        arrayFilter(each -> each != '', [namespace]) AS namespaces
    FROM node_events
    WHERE {all:UInt8} = 1
    UNION ALL
    SELECT
        ts, cluster, node, 'pod' AS kind, {pod_changed} AS what,
        [namespace] AS namespaces
    FROM pod_bindings
    WHERE {all:UInt8} = 1
)
WHERE {filters node}
    AND ({namespace:String} = '' OR empty(namespaces) OR has(namespaces, {namespace:String}))
    AND {filters cluster, ts}
ORDER BY ts, cluster, node, kind, what
