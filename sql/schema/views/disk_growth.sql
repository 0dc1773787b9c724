-- What fills the disks of each node now: by pod and kind, and what lies outside of pods, over the 25 to 30 minutes
-- before the last sample of the node (rules: disk-growth).
-- column ts: The last sample of the node
-- column kind: logs, writable_layer, volume or pod (all of it together), of a pod; images or everything_else, of the node
-- column namespace: Namespace of the pod; empty if it is not about a pod
-- column pod: Name of the pod; empty if it is not about a pod
-- column uid: UID of the pod; empty if it is not about a pod
-- column volume: Name of the volume; empty for other kinds
-- column used_bytes: At the last sample, in bytes
-- column bytes_per_second: Least-squares slope of what is used; null with fewer than four samples or less than a minute
-- column limit_bytes: sizeLimit of the volume, what rotation leaves of the logs, or the limit of the pod's containers together; null if none is known
-- column over_limit: 1 if more is used than the limit; null if none is known
-- column seconds_to_limit: Seconds until limit_bytes is used, at this slope; null if it does not grow, no limit is known, or that is further ahead than 72 times the observed time
-- column seconds_to_threshold: Seconds until the hard threshold of its file system, if only this grows and at this slope; null if it does not grow, no threshold is known, or that is further ahead than 72 times the observed time
CREATE OR REPLACE VIEW disk_growth AS
WITH
    lasts AS (SELECT cluster, node, last_at FROM last_samples),
    recent AS (
        -- By pieces of five minutes, so that of the samples only these are read
        SELECT cluster, node, toStartOfInterval(last_at - toIntervalMinute(arrayJoin([0, 5, 10, 15, 20, 25])), toIntervalMinute(5)) AS piece FROM lasts
    ),
    of_nodes AS (
        SELECT
            s.cluster AS cluster, s.node AS node, s.ts AS ts, s.nodefs_used_bytes AS nodefs_used, s.imagefs_used_bytes AS imagefs_used,
            {layout} = 'single' AS single
        FROM node_samples AS s
        WHERE (s.cluster, s.node, toStartOfInterval(s.ts, toIntervalMinute(5))) IN (SELECT cluster, node, piece FROM recent)
    ),
    of_pods AS (
        SELECT s.cluster AS cluster, s.node AS node, s.ts AS ts, s.namespace AS namespace, s.pod AS pod, s.uid AS uid,
            s.rootfs_used_bytes AS rootfs, s.logs_used_bytes AS logs, s.volumes_used_bytes AS volumes, s.volumes AS each_volume
        FROM pod_samples AS s
        WHERE (s.cluster, s.node, toStartOfInterval(s.ts, toIntervalMinute(5))) IN (SELECT cluster, node, piece FROM recent)
    ),
    used AS (
        SELECT cluster, node, ts, namespace, pod, uid, part.1 AS kind, part.2 AS volume, toNullable(part.3) AS bytes
        FROM of_pods
        ARRAY JOIN arrayConcat(
            [('logs', '', logs), ('writable_layer', '', rootfs), ('pod', '', rootfs + logs + volumes)],
            arrayMap(v -> ('volume', splitByChar(':', v)[1], toInt64OrZero(splitByChar(':', v)[2])), arrayFilter(v -> v != '', splitByChar(',', each_volume)))) AS part
        UNION ALL
        SELECT
            n.cluster AS cluster, n.node AS node, n.ts AS ts, '' AS namespace, '' AS pod, '' AS uid, part.1 AS kind, '' AS volume, part.2 AS bytes
        FROM of_nodes AS n
        LEFT JOIN (
            SELECT cluster, node, ts, sum(rootfs) AS rootfs, sum(logs + volumes) AS others FROM of_pods GROUP BY cluster, node, ts
        ) AS p ON p.cluster = n.cluster AND p.node = n.node AND p.ts = n.ts
        ARRAY JOIN
        [
            ('images', if(n.imagefs_used IS NULL, NULL, greatest(0, n.imagefs_used - p.rootfs))),
            ('everything_else', if(n.nodefs_used IS NULL OR (n.single AND n.imagefs_used IS NULL), NULL,
                greatest(0, n.nodefs_used - p.others - if(n.single, greatest(n.imagefs_used, p.rootfs), 0))))
        ] AS part
    ),
    grown AS (
        SELECT
            u.cluster AS cluster, u.node AS node, u.namespace AS namespace, u.pod AS pod, u.uid AS uid,
            u.kind AS kind, u.volume AS volume, any(l.last_at) AS last_at, argMax(u.bytes, u.ts) AS used_bytes,
            dateDiff('second', min(u.ts), max(u.ts)) AS span_seconds,
            if(count() < 4 OR span_seconds < 60, NULL,
                simpleLinearRegression(toFloat64(dateDiff('millisecond', l.last_at, u.ts)) / 1000, toFloat64(assumeNotNull(u.bytes))).1) AS bytes_per_second
        FROM used AS u
        INNER JOIN lasts AS l ON l.cluster = u.cluster AND l.node = u.node
        WHERE u.bytes IS NOT NULL
        GROUP BY u.cluster, u.node, u.namespace, u.pod, u.uid, u.kind, u.volume
        HAVING max(u.ts) = last_at
    ),
    limited AS (
        SELECT
            g.cluster AS cluster, g.last_at AS ts, g.node AS node, g.kind AS kind, g.namespace AS namespace, g.pod AS pod, g.uid AS uid, g.volume AS volume,
            g.used_bytes AS used_bytes, g.bytes_per_second AS bytes_per_second, g.span_seconds * 72 AS ahead_seconds,
            multiIf(
                g.kind = 'volume', nullIf(s.volume_limits[g.volume], 0),
                g.kind = 'logs', s.log_limit_bytes,
                g.kind = 'pod', s.ephemeral_limit_bytes, NULL) AS limit_bytes,
            if(g.kind IN ('images', 'writable_layer'), 'imagefs.available', 'nodefs.available') AS signal
        FROM grown AS g
        LEFT JOIN (
            SELECT cluster, node, uid, argMax(volume_limits, ts) AS volume_limits,
                argMax(tuple(log_limit_bytes), ts).1 AS log_limit_bytes, argMax(tuple(ephemeral_limit_bytes), ts).1 AS ephemeral_limit_bytes
            FROM storage_limits
            GROUP BY cluster, node, uid
        ) AS s ON s.cluster = g.cluster AND s.node = g.node AND s.uid = g.uid
    )
SELECT
    f.cluster AS cluster, f.ts AS ts, f.node AS node, f.kind AS kind, f.namespace AS namespace, f.pod AS pod,
    f.uid AS uid, f.volume AS volume, f.used_bytes AS used_bytes, f.bytes_per_second AS bytes_per_second,
    f.limit_bytes AS limit_bytes,
    if(f.limit_bytes IS NULL, NULL, toUInt8(f.used_bytes > f.limit_bytes)) AS over_limit,
    if(f.bytes_per_second * f.ahead_seconds >= f.limit_bytes - f.used_bytes AND f.bytes_per_second > 0, greatest(0, f.limit_bytes - f.used_bytes) / f.bytes_per_second, NULL) AS seconds_to_limit,
    if(f.bytes_per_second * f.ahead_seconds >= h.available - h.hard_threshold AND f.bytes_per_second > 0, greatest(0, h.available - h.hard_threshold) / f.bytes_per_second, NULL) AS seconds_to_threshold
FROM limited AS f
LEFT JOIN (
    SELECT s.cluster AS cluster, s.node AS node, s.signal AS signal, argMaxMerge(s.available_last) AS available,
        nullIf(argMaxMerge(s.hard_threshold_last), -1) AS hard_threshold
    FROM eviction_signals_5m AS s
    WHERE s.signal IN ('imagefs.available', 'nodefs.available') AND (s.cluster, s.node, s.ts) IN (SELECT cluster, node, piece FROM recent)
    GROUP BY s.cluster, s.node, s.signal
) AS h ON h.cluster = f.cluster AND h.node = f.node AND h.signal = f.signal
COMMENT 'Current use of the disks of each node by pod and kind, with its slope, its limit and the time to both limits'
