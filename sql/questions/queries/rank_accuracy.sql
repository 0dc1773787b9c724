-- How right the predicted eviction order was: the rank that each evicted pod had before
-- group Evictions and pressure
-- needs samples, pods
-- events Evicted
-- newest
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
SELECT
    cluster,
    ts,
    node,
    namespace,
    pod,
    resource,
    signal,
    predicted_rank,
    rank_when_evicted,
    ranked_pods,
    tied_pods,
    was_next,
    could_be_next,
    seconds_before
FROM rank_accuracy
WHERE ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
ORDER BY ts, cluster, node, pod
