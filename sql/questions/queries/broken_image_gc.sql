-- Which nodes' image GC is broken, and since when
-- group Image GC
-- needs events
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT
    g.cluster AS cluster,
    g.node AS node,
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
    explanation,
    -- Whose containers keep their images from image GC (rules: image-pulls); null where no pod of the node was seen
    if(pods > 0, ended, NULL) AS ended_pods
FROM
(
    SELECT *
    FROM image_gc
    WHERE verdict != 'benign_startup'
    ORDER BY last_at DESC, ts DESC
    LIMIT 1 BY cluster, node
) AS g
LEFT JOIN
(
    SELECT cluster, node, count() AS pods, countIf(change = 'finished' AND reason IN ('', 'DeadlineExceeded')) AS ended
    FROM (SELECT cluster, node, change, reason FROM pod_bindings WHERE node != '' ORDER BY ts DESC, change = 'deleted' DESC LIMIT 1 BY cluster, node, uid)
    GROUP BY cluster, node
) AS p ON p.cluster = g.cluster AND p.node = g.node
WHERE verdict != 'recovered'
    AND ({cluster:String} = '' OR g.cluster = {cluster:String})
    AND ({node:String} = '' OR g.node = {node:String})
ORDER BY since, cluster, node
