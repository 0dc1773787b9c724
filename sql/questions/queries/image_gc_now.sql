-- What the image GC of each kubelet would do now, and how full its disk is
-- group Image GC
-- needs samples
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
ORDER BY usage_percent DESC NULLS FIRST, cluster, node
