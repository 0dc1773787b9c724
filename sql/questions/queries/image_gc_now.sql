-- What the image GC of each kubelet would do now, and how full its disk is
-- group Image GC
-- needs samples
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT
    cluster,
    node,
    ts,
    decision,
    usage_percent,
    high_percent,
    low_percent,
    wanted_bytes,
    capacity_bytes,
    available_bytes,
    settings_assumed
FROM image_gc_state
WHERE (cluster, node, ts) IN (SELECT cluster, node, max(ts) FROM node_samples GROUP BY cluster, node)
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY usage_percent DESC NULLS FIRST, cluster, node
