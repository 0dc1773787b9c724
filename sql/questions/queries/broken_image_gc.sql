-- Which nodes' image GC is broken, and since when
-- group Image GC
-- needs events
SELECT
    cluster,
    node,
    verdict,
    ts AS since,
    last_at,
    occurrences,
    occurrences_lower_bound,
    reason,
    usage_percent,
    high_percent,
    wanted_bytes,
    freed_bytes,
    explanation
FROM
(
    SELECT *
    FROM image_gc
    WHERE verdict != 'benign_startup'
    ORDER BY last_at DESC, ts DESC
    LIMIT 1 BY cluster, node
)
WHERE verdict != 'recovered'
ORDER BY since, cluster, node
