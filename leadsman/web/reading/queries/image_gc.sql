-- Episodes of image GC trouble, the last first
SELECT
    node,
    ts,
    last_at,
    verdict,
    result,
    reason,
    usage_percent,
    high_percent,
    low_percent,
    wanted_bytes,
    freed_bytes,
    occurrences,
    occurrences_lower_bound,
    explanation,
    what,
    settings_assumed,
    updated_at
FROM image_gc_episodes
WHERE cluster = {cluster:String} AND last_at >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
    AND ({node:String} = '' OR node = {node:String})
-- A run that recovered is told at the time of the last failure: what was concluded last counts
ORDER BY last_at DESC, updated_at DESC, verdict = 'recovered' DESC, ts DESC, node
LIMIT 500
