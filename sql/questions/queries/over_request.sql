-- Which pods use more memory or local storage than they request
-- group Evictions and pressure
-- needs samples, pods
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
ORDER BY cluster, node, signal, rank
