-- Why pods are pending: the scheduler's last words about each that was not bound or deleted since
-- group Pods
-- needs pods or events
-- param cluster String '': only this cluster; empty is all
-- param namespace String '': only this namespace; empty is all
SELECT
    f.cluster AS cluster,
    f.namespace AS namespace,
    f.pod AS pod,
    f.ts AS said_at,
    f.nodes_total AS nodes_total,
    f.nodes_known AS nodes_known,
    mapSort(f.reasons) AS reasons,
    f.prefilter AS prefilter,
    f.post_filter AS post_filter,
    f.preemption AS preemption,
    f.pinned_node AS pinned_node,
    f.text_source AS text_source
FROM
(
    SELECT *
    FROM scheduling_failures
    WHERE ({namespace:String} = '' OR namespace = {namespace:String})
    ORDER BY text_source = 'condition' DESC, ts DESC
    LIMIT 1 BY cluster, namespace, pod, uid
) AS f
LEFT JOIN
(
    SELECT cluster, namespace, pod, uid, argMax(change, ts) AS change
    FROM pod_bindings
    GROUP BY cluster, namespace, pod, uid
) AS b ON f.cluster = b.cluster AND f.namespace = b.namespace AND f.pod = b.pod AND f.uid = b.uid
WHERE b.change IN ('pending', '')
    AND ({cluster:String} = '' OR f.cluster = {cluster:String})
ORDER BY cluster, namespace, pod
