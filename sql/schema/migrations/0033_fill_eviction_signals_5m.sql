-- What the feed did not see. Repeating it changes nothing. In small blocks: the embedded engine has 1 GiB.
INSERT INTO eviction_signals_5m (cluster, ts, node, signal, last_at, available_min, capacity, hard_threshold, soft_threshold, hard_met, soft_met,
    available_last, capacity_last, hard_threshold_last, soft_threshold_last, slope_per_second_last, seconds_to_soft_last, seconds_to_hard_last, gc_first_last, thresholds_assumed_last)
SELECT
    s.cluster AS cluster,
    toStartOfInterval(s.ts, toIntervalMinute(5)) AS ts,
    s.node AS node,
    s.signal AS signal,
    max(s.ts) AS last_at,
    min(s.available) AS available_min,
    max(s.capacity) AS capacity,
    max(s.hard_threshold) AS hard_threshold,
    max(s.soft_threshold) AS soft_threshold,
    max(s.hard_met) AS hard_met,
    max(s.soft_met) AS soft_met,
    argMaxState(s.available, s.ts) AS available_last,
    argMaxState(s.capacity, s.ts) AS capacity_last,
    argMaxState(ifNull(s.hard_threshold, -1), s.ts) AS hard_threshold_last,
    argMaxState(ifNull(s.soft_threshold, -1), s.ts) AS soft_threshold_last,
    argMaxState(ifNull(s.slope_per_second, nan), s.ts) AS slope_per_second_last,
    argMaxState(ifNull(s.seconds_to_soft, nan), s.ts) AS seconds_to_soft_last,
    argMaxState(ifNull(s.seconds_to_hard, nan), s.ts) AS seconds_to_hard_last,
    argMaxState(s.gc_first, s.ts) AS gc_first_last,
    argMaxState(s.thresholds_assumed, s.ts) AS thresholds_assumed_last
FROM eviction_signals AS s
GROUP BY s.cluster, s.node, s.signal, toStartOfInterval(s.ts, toIntervalMinute(5))
SETTINGS final = 0, max_threads = 1, max_block_size = 8192, optimize_aggregation_in_order = 1, aggregation_in_order_max_block_bytes = 4000000, min_insert_block_size_rows = 65536, min_insert_block_size_bytes = 0
