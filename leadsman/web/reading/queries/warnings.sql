-- Warning Events of the range by reason, the most frequent first, of all together or of each of some nodes; those that a finding tells are left out
WITH e.reason = 'FailedScheduling' AND e.object_uid IN (
    SELECT uid FROM bound_by_event WHERE cluster = {cluster:String} AND bound_at < {until:DateTime64(6)}
    UNION ALL SELECT uid FROM pod_bindings WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND node != ''
) AS is_placed
SELECT
    if(empty({nodes:Array(String)}), '', e.node) AS node,
    e.reason AS reason, sum(e.occurrences) AS times, max(e.occurrences_lower_bound) AS lower_bound,
    max(e.count) AS most,
    uniqExact(e.object_kind, e.namespace, e.object_name) AS objects,
    uniqExactIf((e.object_kind, e.namespace, e.object_name), is_placed) AS placed,
    arraySlice(arraySort(groupUniqArrayIf(e.node, e.node != '')), 1, 200) AS nodes,
    arraySlice(groupUniqArray(e.object_uid), 1, 1000) AS uids,
    min(e.ts) AS first_at,
    max(e.ts) AS last_at,
    argMax(e.object_kind, (NOT is_placed, e.ts, e.object_name, e.message)) AS last_kind,
    argMax(e.namespace, (NOT is_placed, e.ts, e.object_name, e.message)) AS last_namespace,
    argMax(e.object_name, (NOT is_placed, e.ts, e.object_name, e.message)) AS last_name,
    argMax(e.message, (NOT is_placed, e.ts, e.object_name, e.message)) AS last_message
FROM untold_warnings AS e
WHERE e.cluster = {cluster:String} AND e.ts >= {since:DateTime64(6)} AND e.ts < {until:DateTime64(6)}
    AND ({namespace:String} = '' OR e.object_kind = 'Node' OR e.namespace IN ('', {namespace:String}))
    AND (empty({nodes:Array(String)}) OR e.node IN {nodes:Array(String)})
GROUP BY node, e.reason
ORDER BY times DESC, reason, node
LIMIT 50 BY node
