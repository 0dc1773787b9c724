CREATE MATERIALIZED VIEW IF NOT EXISTS node_fit_5m_feed TO node_fit_5m AS
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
GROUP BY
    f.cluster,
    f.node,
    f.resource,
    toStartOfInterval(f.ts, toIntervalMinute(5))
