-- Whether image GC works on each node: how full its disk is, what it does now, and what went wrong
-- group Image GC
-- needs events or samples
-- events FreeDiskSpaceFailed, ImageGCFailed, InvalidDiskCapacity
-- shows node, usage_percent, high_percent, decision, verdict, explanation
-- was image_gc_now
-- was broken_image_gc broken=1
-- was image_gc_episodes episodes=1
-- param cluster, node
-- param broken UInt8 0: 1 shows only nodes with broken image GC
-- param episodes UInt8 0: 1 shows every episode, including past and harmless ones
SELECT
    cluster, node, g.verdict AS verdict, s.decision AS decision,
    if({episodes:UInt8} = 1, g.usage_percent, coalesce(s.usage_percent, g.usage_percent)) AS usage_percent,
    if({episodes:UInt8} = 1, g.high_percent, coalesce(s.high_percent, g.high_percent)) AS high_percent,
    if({episodes:UInt8} = 1, g.low_percent, coalesce(s.low_percent, g.low_percent)) AS low_percent,
    g.began_at AS since, g.seen_at AS last_at, g.occurrences AS occurrences,
    g.occurrences_lower_bound AS occurrences_lower_bound, g.result AS result, g.reason AS reason,
    coalesce(g.wanted_bytes, s.wanted_bytes) AS wanted_bytes,
    g.freed_bytes AS freed_bytes, s.capacity_bytes AS capacity_bytes, s.available_bytes AS available_bytes,
    s.settings_assumed AS settings_assumed,
    -- Whose containers keep their images from image GC (rules: image-pulls); null where no pod of the node was seen
    if(p.pods > 0, p.ended, NULL) AS ended_pods,
    -- By the Events about their images, the first 20; unknown where a pod has none
    if(p.pods > 0, arrayStringConcat(arrayConcat(
        arraySlice(p.held, 1, 20),
        if(length(p.held) > 20, [concat(toString(length(p.held) - 20), ' more')], []),
        if(p.unnamed > 0, ['unknown'], [])), ', '), NULL) AS held_images,
    g.explanation AS explanation
FROM (
    SELECT * EXCEPT (high_percent, low_percent), toNullable(high_percent) AS high_percent, toNullable(low_percent) AS low_percent
    FROM image_gc_state
    WHERE (cluster, node, ts) IN (SELECT cluster, node, last_at FROM last_samples)
) AS s
FULL OUTER JOIN (
    SELECT *, toNullable(ts) AS began_at, toNullable(last_at) AS seen_at
    FROM image_gc_episodes
    WHERE {episodes:UInt8} = 1 OR (verdict != 'benign_startup'
        -- Those of an earlier node of that name are over
        AND (cluster, node, last_at) NOT IN (
            SELECT e.cluster, e.node, e.last_at
            FROM image_gc_episodes AS e
            INNER JOIN {nodes_made} AS n USING (cluster, node)
            WHERE e.last_at < n.made_at - {registers}
        ))
    ORDER BY last_at DESC, updated_at DESC, verdict = 'recovered' DESC, ts DESC
    LIMIT 1 BY cluster, node, if({episodes:UInt8} = 1, (ts, reason, verdict), (toDateTime64(0, 6, 'UTC'), '', ''))
) AS g USING (cluster, node)
LEFT JOIN (
    SELECT
        l.cluster AS cluster, l.node AS node, count() AS pods, countIf(l.is_over) AS ended,
        countIf(l.is_over AND empty(e.images)) AS unnamed,
        arraySort(groupUniqArrayArrayIf(e.images, l.is_over)) AS held
    FROM (
        SELECT cluster, node, uid, change = 'finished' AND reason IN ('', 'DeadlineExceeded') AS is_over
        FROM (SELECT cluster, node, uid, change, reason FROM pod_bindings WHERE node != '' ORDER BY ts DESC, change = 'deleted' DESC LIMIT 1 BY cluster, node, uid)
    ) AS l
    LEFT JOIN (
        SELECT cluster, node, object_uid AS uid, groupUniqArray(image) AS images
        FROM (
            SELECT cluster, node, object_uid, extract(message, '(?:Container image|Successfully pulled image) "([^"]+)"') AS image
            FROM node_events
            WHERE reason = 'Pulled' AND component = 'kubelet' AND object_kind = 'Pod' AND node != ''
                AND (cluster, node) IN (SELECT cluster, node FROM image_gc_episodes WHERE verdict NOT IN ('benign_startup', 'recovered'))
        )
        WHERE image != ''
        GROUP BY cluster, node, object_uid
    ) AS e ON e.cluster = l.cluster AND e.node = l.node AND e.uid = l.uid
    GROUP BY l.cluster, l.node
) AS p USING (cluster, node)
WHERE ({broken:UInt8} = 0 OR g.verdict NOT IN ('', 'recovered'))
    AND ({episodes:UInt8} = 0 OR g.verdict != '')
    AND {filters cluster, node}
ORDER BY verdict IN ('', 'recovered'), since, usage_percent DESC NULLS FIRST, cluster, node, reason
