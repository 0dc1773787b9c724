-- Why pods wait for a node: the scheduler's last words, which nodes would take each, and whether it is retried
-- group Pods
-- needs pods or events
-- events FailedScheduling
-- shows said_at, namespace, pod, fits_on, said
-- was pods_not_retried fitting=1
-- param cluster, namespace
-- param fitting UInt8 0: 1 shows only pods that a node would take
SELECT
    p.cluster AS cluster, p.namespace AS namespace, p.pod AS pod,
    p.* EXCEPT (cluster, namespace, pod, uid, said),
    p.said AS said, n.nodes AS fits_on, n.verdict AS retried, n.tried_at AS tried_at,
    n.silent_seconds AS silent_seconds,
    if(q.queue = '' OR p.said_at > q.dumped_at, NULL, q.queue) AS queue,
    if(queue IS NULL, NULL, q.leaves_when) AS leaves_queue_when,
    w.autoscaler AS autoscaler
FROM (
    SELECT
        f.cluster AS cluster, f.namespace AS namespace, f.pod AS pod, f.ts AS said_at, f.nodes_total AS nodes_total,
        f.nodes_known AS nodes_known, mapSort(f.reasons) AS reasons, f.prefilter AS prefilter,
        f.post_filter AS post_filter, f.preemption AS preemption, f.pinned_node AS pinned_node,
        f.text_source AS text_source, f.why AS said, f.uid AS uid
    FROM (
        SELECT *
        FROM scheduling_failures
        WHERE {filters namespace}
        ORDER BY text_source = 'condition' DESC, ts DESC
        LIMIT 1 BY cluster, namespace, pod, uid
    ) AS f
    LEFT JOIN (
        SELECT cluster, namespace, pod, uid, argMax(change, ts) AS change
        FROM pod_bindings
        GROUP BY cluster, namespace, pod, uid
    ) AS b ON f.cluster = b.cluster AND f.namespace = b.namespace AND f.pod = b.pod AND f.uid = b.uid
    WHERE b.change IN ('pending', '') AND ({cluster:String} = '' OR f.cluster = {cluster:String})
    UNION ALL
    SELECT
        e.cluster AS cluster, e.namespace AS namespace, e.object_name AS pod, e.said_at AS said_at,
        NULL AS nodes_total, NULL AS nodes_known,
        CAST(map(), 'Map(String, Int64)') AS reasons,
        '' AS prefilter, '' AS post_filter, '' AS preemption, '' AS pinned_node, 'event' AS text_source,
        e.said AS said, e.object_uid AS uid
    FROM (
        -- What has no "0/N nodes": errors of plugins, and the words of other schedulers
        SELECT
            cluster, namespace, object_name, object_uid, max(ts) AS said_at,
            argMaxIf(message, (ts, message), component NOT IN (SELECT component FROM autoscalers)) AS said
        FROM node_events
        WHERE reason = 'FailedScheduling' AND object_kind = 'Pod'
            AND (cluster, namespace, object_name, object_uid) NOT IN (SELECT cluster, namespace, pod, uid FROM scheduling_failures)
            AND (cluster, namespace, object_name, object_uid) NOT IN (SELECT cluster, namespace, pod, uid FROM pod_bindings WHERE change = 'pending' AND waits_for != '')
            AND {filters namespace, cluster}
        GROUP BY cluster, namespace, object_name, object_uid
    ) AS e
    LEFT JOIN (
        SELECT cluster, uid, argMax(change, ts) AS change FROM pod_bindings GROUP BY cluster, uid
    ) AS b ON b.cluster = e.cluster AND b.uid = e.object_uid
    WHERE b.change IN ('pending', '')
    UNION ALL
    SELECT cluster, namespace, pod, last.1 AS said_at, NULL AS nodes_total, NULL AS nodes_known,
        CAST(map(), 'Map(String, Int64)') AS reasons, '' AS prefilter, '' AS post_filter, '' AS preemption, '' AS pinned_node,
        'condition' AS text_source, last.3 AS said, uid
    FROM (
        SELECT cluster, namespace, pod, uid, argMax((ts, change, waits_for), ts) AS last
        FROM pod_bindings
        WHERE {filters namespace, cluster}
        GROUP BY cluster, namespace, pod, uid
    )
    WHERE last.2 = 'pending'
        AND (last.3 != '' OR (cluster, uid) NOT IN (SELECT cluster, object_uid FROM node_events WHERE reason = 'FailedScheduling' AND object_kind = 'Pod'))
        AND (cluster, namespace, pod, uid) NOT IN (SELECT cluster, namespace, pod, uid FROM scheduling_failures)
) AS p
LEFT JOIN (
    SELECT cluster, object_uid AS uid, argMax(concat(component, ': ', message), (ts, message)) AS autoscaler
    FROM node_events
    WHERE object_kind = 'Pod' AND component IN (SELECT component FROM autoscalers)
    GROUP BY cluster, object_uid
) AS w ON w.cluster = p.cluster AND w.uid = p.uid
LEFT JOIN (
    SELECT cluster, namespace, pod, nodes, verdict, tried_at, silent_seconds
    FROM pods_not_retried
) AS n ON n.cluster = p.cluster AND n.namespace = p.namespace AND n.pod = p.pod
LEFT JOIN (
    SELECT cluster, arrayJoin(uids) AS uid, any(queue) AS queue, any(leaves_when) AS leaves_when, any(ts) AS dumped_at
    FROM scheduling_queues
    WHERE (cluster, ts) IN (SELECT cluster, max(ts) FROM scheduling_queues WHERE notEmpty(uids) GROUP BY cluster)
    GROUP BY cluster, uid
) AS q ON q.cluster = p.cluster AND q.uid = p.uid
WHERE ({fitting:UInt8} = 0 OR n.verdict != '')
    AND (p.cluster, p.uid) NOT IN (SELECT cluster, uid FROM bound_by_event WHERE ({cluster:String} = '' OR cluster = {cluster:String}))
ORDER BY p.cluster, p.namespace, p.pod
