-- Which events occurred most
-- group What happened
-- needs events
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param type String '': Normal or Warning; empty is both
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
SELECT
    cluster,
    node,
    type,
    reason,
    object_kind,
    sum(occurrences) AS occurrences,
    max(occurrences_lower_bound) AS lower_bound,
    min(ts) AS first_at,
    max(ts) AS last_at,
    argMax(message, (ts, message)) AS last_message
FROM node_events
WHERE ({type:String} = '' OR type = {type:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
GROUP BY cluster, node, type, reason, object_kind
ORDER BY occurrences DESC, cluster, node, type, reason, object_kind
