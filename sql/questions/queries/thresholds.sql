-- Which eviction thresholds are in force on each node, in absolute numbers, and what is left above them
-- group Evictions and pressure
-- needs samples
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT
    cluster,
    node,
    signal,
    hard_threshold,
    soft_threshold,
    soft_grace_seconds,
    available,
    available - greatest(coalesce(hard_threshold, 0), coalesce(soft_threshold, 0)) AS room,
    thresholds_assumed
FROM eviction_signals
WHERE (cluster, node, signal, ts) IN (SELECT cluster, node, signal, max(ts) FROM eviction_signals GROUP BY cluster, node, signal)
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY cluster, node, signal
