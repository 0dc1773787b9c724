-- Which nodes' image GC is broken, and since when
-- group Image GC
-- needs events
-- events FreeDiskSpaceFailed, ImageGCFailed, InvalidDiskCapacity
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
    if(pods > 0, ended, NULL) AS ended_pods,
    -- By the Events about their images, the first 20; unknown where a pod has none
    if(pods > 0, arrayStringConcat(arrayConcat(
        arraySlice(held, 1, 20),
        if(length(held) > 20, [concat(toString(length(held) - 20), ' more')], []),
        if(unnamed > 0, ['unknown'], [])), ', '), NULL) AS held_images
FROM
(
    SELECT *
    FROM image_gc
    WHERE verdict != 'benign_startup'
    ORDER BY last_at DESC, updated_at DESC, verdict = 'recovered' DESC, ts DESC
    LIMIT 1 BY cluster, node
) AS g
LEFT JOIN
(
    SELECT
        l.cluster AS cluster, l.node AS node, count() AS pods, countIf(l.is_over) AS ended,
        countIf(l.is_over AND empty(e.images)) AS unnamed,
        arraySort(groupUniqArrayArrayIf(e.images, l.is_over)) AS held
    FROM
    (
        SELECT cluster, node, uid, change = 'finished' AND reason IN ('', 'DeadlineExceeded') AS is_over
        FROM (SELECT cluster, node, uid, change, reason FROM pod_bindings WHERE node != '' ORDER BY ts DESC, change = 'deleted' DESC LIMIT 1 BY cluster, node, uid)
    ) AS l
    LEFT JOIN
    (
        SELECT cluster, node, object_uid AS uid, groupUniqArray(image) AS images
        FROM
        (
            SELECT cluster, node, object_uid, extract(message, '(?:Container image|Successfully pulled image) "([^"]+)"') AS image
            FROM node_events
            WHERE reason = 'Pulled' AND component = 'kubelet' AND object_kind = 'Pod' AND node != ''
                AND (cluster, node) IN (SELECT cluster, node FROM image_gc WHERE verdict NOT IN ('benign_startup', 'recovered'))
        )
        WHERE image != ''
        GROUP BY cluster, node, object_uid
    ) AS e ON e.cluster = l.cluster AND e.node = l.node AND e.uid = l.uid
    GROUP BY l.cluster, l.node
) AS p ON p.cluster = g.cluster AND p.node = g.node
WHERE verdict != 'recovered'
    AND ({cluster:String} = '' OR g.cluster = {cluster:String})
    AND ({node:String} = '' OR g.node = {node:String})
ORDER BY since, cluster, node
