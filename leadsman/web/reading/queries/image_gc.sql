-- Episodes of image GC trouble, the last first
SELECT
    e.node AS node, e.ts AS ts, e.last_at AS last_at, verdict, result, reason, usage_percent, high_percent,
    low_percent, wanted_bytes, freed_bytes, occurrences, occurrences_lower_bound, explanation, what, settings_assumed,
    updated_at, s.sampled_at AS sampled_at,
    -- The node is deleted, or another one has its name
    n.gone OR e.last_at < n.created_at - {registers} AS is_gone
FROM image_gc_episodes AS e
LEFT JOIN (
    SELECT node, max(toNullable(last_at)) AS sampled_at
    FROM node_samples_5m
    WHERE cluster = {cluster:String} AND first_at < {until:DateTime64(6)} AND last_at >= {until:DateTime64(6)} - INTERVAL 1 DAY
    GROUP BY node
) AS s ON s.node = e.node
LEFT JOIN (
    SELECT
        node, argMax(deleted, ts) AS gone,
        ifNull(argMax(created_at, ts), toDateTime64(0, 6, 'UTC')) AS created_at
    FROM nodes
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND ({node:String} = '' OR node = {node:String})
    GROUP BY node
) AS n ON n.node = e.node
WHERE cluster = {cluster:String} AND e.last_at >= {since:DateTime64(6)} AND e.ts < {until:DateTime64(6)}
    AND ({node:String} = '' OR e.node = {node:String})
-- A run that recovered is told at the time of the last failure: what was concluded last counts
ORDER BY e.last_at DESC, updated_at DESC, verdict = 'recovered' DESC, e.ts DESC, e.node
LIMIT 500
