-- Which events occurred most, and where their counts are lower bounds
-- group What happened
-- needs events
-- shows last_at, node, reason, occurrences, last_message
-- was event_lower_bounds uncertain=1
-- param cluster, node
-- param namespace String '': only about objects of this namespace; empty is all
-- param type String '': Normal or Warning; empty is both
-- param since, until
-- param uncertain UInt8 0: 1 shows only events that may have occurred more often
SELECT
    cluster, node, type, reason, object_kind, component, sum(occurrences) AS occurrences,
    max(occurrences_lower_bound) AS lower_bound, count() AS states_seen,
    countIf(occurrences_lower_bound) AS states_uncertain,
    min(ts) AS first_at, max(ts) AS last_at,
    argMax(message, (ts, message)) AS last_message
FROM node_events
WHERE ({type:String} = '' OR type = {type:String})
    AND {filters cluster, node, namespace, ts}
GROUP BY cluster, node, type, reason, object_kind, component
HAVING {uncertain:UInt8} = 0 OR states_uncertain > 0
ORDER BY occurrences DESC, cluster, node, type, reason, object_kind, component
