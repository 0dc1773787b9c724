-- Where event counts lie: the true number can be higher
-- group What is not known
-- needs events
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
GROUP BY cluster, node, object_kind, reason, component
HAVING states_uncertain > 0
ORDER BY states_uncertain DESC, cluster, node, object_kind, reason, component
