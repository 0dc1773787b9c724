-- Which pods use more memory or local storage than they request
-- group Evictions and pressure
-- shows node, namespace, pod, signal, usage, request
-- needs samples, pods
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param namespace String '': only this namespace; empty is all
SELECT
    cluster,
    node,
    signal,
    namespace,
    pod,
    usage,
    request,
    usage - request AS excess,
    priority,
    rank
FROM eviction_order
WHERE exceeds_request AND signal IN ('memory.available', 'nodefs.available') AND ({namespace:String} = '' OR namespace = {namespace:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY cluster, node, signal, rank
