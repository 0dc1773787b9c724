-- Each pull of an image that the kubelet reports, and why, where the node had the image before (rules: image-pulls).
-- column ts: When the pull had ended
-- column image: The image as the pod names it
-- column pod: Name of the pod that it was pulled for
-- column uid: UID of that pod
-- column seconds: How long the pull took, in seconds, without waiting for others; null if the Event has none
-- column image_bytes: Size of the image in bytes; a pull transfers less if the node has some layers; null if the Event has no size
-- column unused_seconds: Seconds from its last known use until it was requested again; null if it was not on the node before, or a pod may still have used it
-- column cause: maximum_age, image_gc, in_use (a pod that used it still ran) or unknown; empty if the node did not have it before, as far as seen
-- column image_maximum_gc_age_seconds: Age in seconds above which an unused image is deleted, 0 is never; null if no /configz was seen
-- column high_percent: Usage in percent at which image GC begins; null if no /configz was seen
-- column low_percent: Usage in percent down to which it frees; null if no /configz was seen
CREATE OR REPLACE VIEW image_pulls AS
WITH
    (available_bytes, capacity_bytes) -> {image_gc_percent} AS percent_used,
    toDateTime64('2200-01-01 00:00:00', 6, 'UTC') AS never,
    events AS (
        -- Before rows are merged, which an Event allows: none of these ever changes in it
        SELECT cluster, node, ts, name, namespace, object_name, object_uid, message FROM node_events FINAL
        PREWHERE reason = 'Pulled' AND component = 'kubelet' AND object_kind = 'Pod' AND node != ''
    ),
    present AS (
        SELECT DISTINCT cluster, namespace, splitByChar('"', message)[2] AS image FROM events
        WHERE message LIKE '%already present on machine%' AND match(message, '^(?:\\(combined from similar events\\): )?Container image "[^"]+" already present on machine(?: and can be accessed by the pod)?$')
    ),
    shown AS (
        SELECT
            cluster, node, ts, name, namespace, object_name, object_uid,
            splitByChar('"', message) AS quoted,
            endsWith(quoted[1], 'pulled image ') AS pulled,
            splitByChar(' ', quoted[3]) AS words,
            pulled AND words[2] = 'in' AS timed
        FROM events
        WHERE match(message, '^(?:\\(combined from similar events\\): )?(?:Container image "[^"]+" already present on machine(?: and can be accessed by the pod)?|Successfully pulled image "[^"]+"(?: in [^ ]+)?(?: \\([^ ]+ including waiting\\))?(?:\\. Image size: [0-9]{1,15} bytes\\.)?)$')
    ),
    lives AS (
        -- Containers of pods that the kubelet evicts are removed at once, those of other ended pods with the pod
        SELECT
            cluster, uid,
            minIf(ts, change = 'deleted' OR (change = 'finished' AND reason IN ('Evicted', 'Preempting'))) AS freed_at,
            minIf(ts, change IN ('deleted', 'finished')) AS ended_at
        FROM pod_bindings FINAL
        WHERE cityHash64(cluster, uid) IN (SELECT cityHash64(cluster, object_uid) FROM events)
        GROUP BY cluster, uid
    ),
    uses AS (
        SELECT
            s.cluster AS cluster, s.node AS node, s.ts AS at, s.name AS name, s.namespace AS namespace,
            s.object_name AS pod, s.object_uid AS pod_uid, s.quoted[2] AS image, s.pulled AS pulled,
            if(s.pulled, arrayMap({duration}, [if(s.timed, s.words[3], ''), if(s.timed, s.words[4], s.words[2])]), [0., 0.]) AS durations,
            if(s.timed, durations[1], NULL) AS seconds,
            if(s.pulled AND s.words[-1] = 'bytes.', toInt64OrNull(s.words[-2]), NULL) AS bytes,
            at - toIntervalMillisecond(toInt64(least(arrayMax(durations), 1e6) * 1000)) AS asked_at,
            if(l.uid = '' OR toUnixTimestamp64Micro(l.freed_at) = 0, never, greatest(at, l.freed_at)) AS free_from,
            multiIf(l.uid = '', at, toUnixTimestamp64Micro(l.ended_at) = 0, never, greatest(at, l.ended_at)) AS ran_until
        FROM shown AS s
        LEFT JOIN lives AS l ON l.cluster = s.cluster AND l.uid = s.object_uid
    ),
    pulls AS (
        SELECT *, if(unused_from > asked_at, before_at, unused_from) AS since, (cluster, namespace, image) IN present AS not_always
        FROM (
            SELECT *,
                max(at) OVER earlier AS before_at, max(free_from) OVER earlier AS unused_from,
                max(ran_until) OVER earlier AS used_until
            FROM uses
            WINDOW earlier AS (PARTITION BY cluster, node, image ORDER BY at, pulled, name ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        )
        WHERE pulled
    ),
    settings AS (
        SELECT cluster, ts, node, image_maximum_gc_age_seconds, image_gc_high_percent, image_gc_low_percent, 1 AS seen FROM kubelet_settings FINAL
    ),
    starts AS (
        SELECT cluster, node, ts AS at FROM node_events FINAL WHERE {kubelet_start}
        UNION ALL
        SELECT DISTINCT cluster, node, assumeNotNull(created_at) AS at FROM nodes FINAL WHERE created_at IS NOT NULL
    ),
    collected AS (
        SELECT cluster, node, last_at AS began_at, last_at AS at FROM image_gc_episodes WHERE freed_bytes > 0
        UNION ALL
        SELECT
            h.cluster AS cluster, h.node AS node, h.first_at AS began_at,
            -- Of five minutes that were not all above the threshold nobody knows when they were
            if(percent_used(h.imagefs_available_bytes_max, h.imagefs_capacity_bytes_last) >= k.image_gc_high_percent, h.first_at, h.last_at) AS at
        FROM node_history AS h
        ASOF INNER JOIN settings AS k ON k.cluster = h.cluster AND k.node = h.node AND h.last_at >= k.ts
        WHERE (h.cluster, h.node) IN (SELECT cluster, node FROM events) AND h.imagefs_capacity_bytes_last > 0
            AND percent_used(h.imagefs_available_bytes_min, h.imagefs_capacity_bytes_last) >= k.image_gc_high_percent
    )
SELECT
    p.cluster AS cluster, p.at AS ts, p.node AS node, p.image AS image, p.namespace AS namespace, p.pod AS pod,
    p.pod_uid AS uid, p.seconds AS seconds, p.bytes AS image_bytes,
    if(p.since = p.unused_from AND cause NOT IN ('', 'in_use'), dateDiff('millisecond', p.since, p.asked_at) / 1000, NULL) AS unused_seconds,
    multiIf(
        toUnixTimestamp64Micro(p.before_at) = 0 OR p.before_at >= p.asked_at, '',
        -- The Event has whole seconds: the image may have been asked for up to one later
        p.used_until > p.asked_at + toIntervalSecond(1), if(c.began_at > p.since, 'unknown', 'in_use'),
        -- Without its Node object nobody knows whether it is the same node
        p.unused_from > p.asked_at OR r.at > p.since OR toUnixTimestamp64Micro(r.at) = 0, 'unknown',
        -- Image GC runs every 5 min, and looks at containers that are removed within one more
        k.image_maximum_gc_age_seconds > 0 AND dateDiff('second', p.since, p.asked_at) >= k.image_maximum_gc_age_seconds + 360, 'maximum_age',
        p.not_always AND c.began_at > p.since, 'image_gc',
        'unknown') AS cause,
    if(k.seen, k.image_maximum_gc_age_seconds, NULL) AS image_maximum_gc_age_seconds,
    if(k.seen, k.image_gc_high_percent, NULL) AS high_percent,
    if(k.seen, k.image_gc_low_percent, NULL) AS low_percent
FROM pulls AS p
ASOF LEFT JOIN settings AS k ON k.cluster = p.cluster AND k.node = p.node AND p.asked_at >= k.ts
ASOF LEFT JOIN starts AS r ON r.cluster = p.cluster AND r.node = p.node AND p.asked_at >= r.at
ASOF LEFT JOIN collected AS c ON c.cluster = p.cluster AND c.node = p.node AND p.asked_at >= c.at
COMMENT 'Each pull of an image by a kubelet, and whether the node had the image before: deleted for its age, by image GC for space, or not known why'
