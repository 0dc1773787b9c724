-- Where event counts lie: the true number can be higher
-- group What is not known
-- needs events
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT
    cluster,
    node,
    object_kind,
    reason,
    component,
    sum(occurrences) AS occurrences_at_least,
    count() AS states_seen,
    countIf(occurrences_lower_bound) AS states_uncertain,
    min(ts) AS first_at,
    max(ts) AS last_at
FROM node_events
WHERE ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
GROUP BY cluster, node, object_kind, reason, component
HAVING states_uncertain > 0
ORDER BY states_uncertain DESC, cluster, node, object_kind, reason, component
