-- What the feed did not see. Repeating it changes nothing. In small blocks: the embedded engine has 1 GiB.
INSERT INTO node_fit_5m (cluster, ts, node, resource, last_at, used_max, free_min, capacity_last, allocatable_last, requested_last, used_last, pods_last)
SELECT
    f.cluster AS cluster,
    toStartOfInterval(f.ts, toIntervalMinute(5)) AS ts,
    f.node AS node,
    f.resource AS resource,
    max(f.ts) AS last_at,
    max(f.used) AS used_max,
    min(f.free) AS free_min,
    argMaxState(f.capacity, f.ts) AS capacity_last,
    argMaxState(f.allocatable, f.ts) AS allocatable_last,
    argMaxState(f.requested, f.ts) AS requested_last,
    argMaxState(ifNull(f.used, -1), f.ts) AS used_last,
    argMaxState(f.pods, f.ts) AS pods_last
FROM node_fit AS f
GROUP BY f.cluster, f.node, f.resource, toStartOfInterval(f.ts, toIntervalMinute(5))
SETTINGS final = 0, max_threads = 1, max_block_size = 8192, optimize_aggregation_in_order = 1, aggregation_in_order_max_block_bytes = 4000000, min_insert_block_size_rows = 65536, min_insert_block_size_bytes = 0
