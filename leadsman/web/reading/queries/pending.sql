-- The scheduler's last words about each pod that was still pending at the end
SELECT
    f.namespace AS namespace, f.pod AS pod, f.ts AS said_at, f.nodes_total AS nodes_total,
    f.nodes_known AS nodes_known, mapSort(f.reasons) AS reasons, f.prefilter AS prefilter,
    f.pinned_node AS pinned_node, f.truncated AS truncated
FROM (
    SELECT *
    FROM scheduling_failures
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND {filters namespace}
    ORDER BY text_source = 'condition' DESC, ts DESC
    LIMIT 1 BY namespace, pod, uid
) AS f
LEFT JOIN (
    SELECT namespace, pod, uid, argMax(change, ts) AS change
    FROM pod_bindings
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
        AND uid IN (SELECT uid FROM scheduling_failures WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)})
    GROUP BY namespace, pod, uid
) AS b ON f.namespace = b.namespace AND f.pod = b.pod AND f.uid = b.uid
WHERE b.change IN ('pending', '') AND f.uid NOT IN (SELECT uid FROM bound_by_event WHERE cluster = {cluster:String} AND bound_at < {until:DateTime64(6)})
ORDER BY said_at DESC, namespace, pod
LIMIT 200
