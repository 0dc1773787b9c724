-- Which living pods request no memory or no CPU
-- group Pods
-- shows node, namespace, pod, cpu_request_millicores, memory_request_bytes, owner_name
-- needs pods
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param namespace String '': only this namespace; empty is all
SELECT
    cluster,
    node,
    namespace,
    pod,
    qos_class,
    cpu_request_millicores,
    memory_request_bytes,
    owner_kind,
    owner_name
FROM
(
    SELECT *
    FROM pod_bindings
    ORDER BY ts DESC, indexOf(['pending', 'bound', 'updated', 'finished', 'deleted'], change) DESC
    LIMIT 1 BY cluster, namespace, pod, uid
)
WHERE change NOT IN ('finished', 'deleted') AND (cpu_request_millicores = 0 OR memory_request_bytes = 0)
    AND ({namespace:String} = '' OR namespace = {namespace:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY cluster, node, namespace, pod
