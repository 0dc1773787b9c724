CREATE MATERIALIZED VIEW IF NOT EXISTS eviction_signals_5m_feed TO eviction_signals_5m AS
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
    argMaxState(s.thresholds_assumed, s.ts) AS thresholds_assumed_last,
    argMaxState(ifNull(s.seconds_to_soft_earliest, nan), s.ts) AS seconds_to_soft_earliest_last,
    argMaxState(ifNull(s.seconds_to_soft_latest, nan), s.ts) AS seconds_to_soft_latest_last,
    argMaxState(ifNull(s.seconds_to_hard_earliest, nan), s.ts) AS seconds_to_hard_earliest_last,
    argMaxState(ifNull(s.seconds_to_hard_latest, nan), s.ts) AS seconds_to_hard_latest_last,
    argMaxState(s.acts_first, s.ts) AS acts_first_last
FROM eviction_signals AS s
GROUP BY
    s.cluster,
    s.node,
    s.signal,
    toStartOfInterval(s.ts, toIntervalMinute(5))
