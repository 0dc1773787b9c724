-- How soon each node meets an eviction threshold, nearest first
-- group Evictions and pressure
-- needs samples
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT
    cluster,
    node,
    signal,
    ts,
    available,
    capacity,
    soft_threshold,
    hard_threshold,
    slope_per_second,
    seconds_to_soft,
    seconds_to_hard,
    seconds_to_soft_earliest,
    seconds_to_soft_latest,
    seconds_to_hard_earliest,
    seconds_to_hard_latest,
    acts_first,
    gc_first,
    thresholds_assumed
FROM eviction_signals
WHERE (cluster, node, signal, ts) IN (SELECT cluster, node, signal, max(ts) FROM eviction_signals GROUP BY cluster, node, signal)
    AND ({node:String} = '' OR node = {node:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
ORDER BY least(coalesce(seconds_to_soft, 1e18), coalesce(seconds_to_hard, 1e18)), cluster, node, signal
