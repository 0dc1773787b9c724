-- Pods that are still there ten minutes after their deletion was asked for, those for longest first
SELECT last.1 AS node, namespace, pod, last.2 AS since, last.3 = 'finished' AS is_over
FROM (
    SELECT namespace, pod, uid, argMax((node, deletion_asked_at, change),
        {latest_change}) AS last
    FROM pod_bindings
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND {filters namespace}
    GROUP BY namespace, pod, uid
)
WHERE last.3 != 'deleted' AND last.2 < {until:DateTime64(6)} - toIntervalMinute(10)
    AND ({node:String} = '' OR last.1 = {node:String})
ORDER BY since, node, namespace, pod
LIMIT 100000
