-- Pods that wait for a node at the end and want exclusive CPUs, those of one owner together
SELECT namespace, latest.5 AS owner, toInt64(latest.3) AS cpus, count() AS pods, min(latest.4) AS pod
FROM (
    SELECT
        namespace, uid,
        argMax((change, node, exclusive_cpus, pod, owner_name),
            {latest_change}) AS latest
    FROM pod_bindings
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND ({namespace:String} = '' OR namespace = {namespace:String})
    GROUP BY namespace, uid
)
WHERE latest.1 = 'pending' AND latest.2 = '' AND latest.3 > 0
    AND uid NOT IN (SELECT uid FROM bound_by_event WHERE cluster = {cluster:String} AND bound_at < {until:DateTime64(6)})
GROUP BY namespace, owner, cpus
ORDER BY pods DESC, cpus DESC, namespace, owner
LIMIT 20
