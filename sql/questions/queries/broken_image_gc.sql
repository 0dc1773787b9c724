-- Which nodes' image GC is broken, and since when
-- group Image GC
-- needs events
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
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
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY since, cluster, node
