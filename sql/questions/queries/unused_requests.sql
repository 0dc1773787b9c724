-- Which living pods request much more memory than they ever used
-- group Pods
-- shows node, namespace, pod, memory_request_bytes, highest_bytes, unused_bytes
-- needs samples, pods
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param ratio Float64 2: requested at least so many times the highest use
-- param namespace String '': only this namespace; empty is all
SELECT
    b.cluster AS cluster,
    b.node AS node,
    b.namespace AS namespace,
    b.pod AS pod,
    b.memory_request_bytes AS memory_request_bytes,
    u.highest_bytes AS highest_bytes,
    b.memory_request_bytes - u.highest_bytes AS unused_bytes
FROM
(
    SELECT *
    FROM pod_bindings
    ORDER BY ts DESC, indexOf(['pending', 'bound', 'updated', 'finished', 'deleted'], change) DESC
    LIMIT 1 BY cluster, namespace, pod, uid
) AS b
INNER JOIN
(
    SELECT cluster, uid, max(memory_working_set_bytes_max) AS highest_bytes
    FROM pod_history
    GROUP BY cluster, uid
) AS u ON u.cluster = b.cluster AND u.uid = b.uid
WHERE b.change NOT IN ('finished', 'deleted') AND b.memory_request_bytes >= {ratio:Float64} * u.highest_bytes AND b.memory_request_bytes > 0
    AND ({namespace:String} = '' OR b.namespace = {namespace:String})
    AND ({cluster:String} = '' OR b.cluster = {cluster:String})
    AND ({node:String} = '' OR b.node = {node:String})
ORDER BY unused_bytes DESC, cluster, node, namespace, pod
