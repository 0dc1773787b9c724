-- Which pod goes next on each node, and how near each threshold is
-- group Evictions and pressure
-- needs samples, pods
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param depth UInt32 1: how many pods of each order
SELECT
    o.cluster AS cluster,
    o.node AS node,
    o.signal AS signal,
    o.rank AS rank,
    o.namespace AS namespace,
    o.pod AS pod,
    o.exceeds_request AS exceeds_request,
    o.priority AS priority,
    o.usage AS usage,
    o.request AS request,
    s.available AS available,
    s.hard_threshold AS hard_threshold,
    s.soft_threshold AS soft_threshold,
    s.seconds_to_hard AS seconds_to_hard,
    s.seconds_to_hard_earliest AS seconds_to_hard_earliest,
    s.seconds_to_hard_latest AS seconds_to_hard_latest,
    s.acts_first AS acts_first
FROM eviction_order AS o
LEFT JOIN eviction_signals AS s ON s.cluster = o.cluster AND s.node = o.node AND s.signal = o.signal AND s.ts = o.ts
WHERE o.rank <= {depth:UInt32} AND ({node:String} = '' OR o.node = {node:String})
    AND ({cluster:String} = '' OR o.cluster = {cluster:String})
ORDER BY cluster, node, signal, rank
