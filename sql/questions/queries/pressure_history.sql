-- When and for how long each node was under pressure, and what the kubelet evicted or deleted
-- group Evictions and pressure
-- needs nodes
-- events NodeHasDiskPressure, NodeHasInsufficientMemory, NodeHasInsufficientPID
-- shows node, condition, began_at, lasted_seconds, ended_at, evicted_pods
-- newest
-- param cluster, node
-- param since DateTime64(6) 1970-01-01T00:00:00Z: only pressure that had not ended before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: only pressure that began before
WITH changes AS (
    SELECT
        cluster, node, condition, ts, status, evidence, lasted_seconds, row_number() OVER each AS place,
        leadInFrame(toNullable(ts)) OVER (each ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next_at
    FROM pressure_changes
    WHERE NOT kubelet_restart AND {filters cluster, node}
    WINDOW each AS (PARTITION BY cluster, node, condition ORDER BY ts)
),
episodes AS (
    SELECT
        c.cluster AS cluster, c.node AS node, c.condition AS condition,
        if(c.status, c.ts, c.ts - toIntervalMicrosecond(round(c.lasted_seconds * 1e6))) AS began_at,
        if(c.status, c.next_at, c.ts) AS ended_at,
        dateDiff('microsecond', began_at, coalesce(ended_at, greatest(k.last, began_at))) / 1e6 AS lasted_seconds,
        c.evidence AS evidence
    FROM changes AS c
    LEFT JOIN (
        SELECT cluster, max(seen_at) AS last
        FROM (
            SELECT cluster, max(last_at) AS seen_at FROM node_samples_5m GROUP BY cluster
            UNION ALL SELECT cluster, max(ts) FROM nodes GROUP BY cluster
            UNION ALL SELECT cluster, max(observed_at) FROM node_events GROUP BY cluster
        )
        GROUP BY cluster
    ) AS k ON k.cluster = c.cluster
    WHERE (c.status OR (c.place = 1 AND c.lasted_seconds IS NOT NULL))
        AND began_at < {until:DateTime64(6)} AND coalesce(ended_at, {since:DateTime64(6)}) >= {since:DateTime64(6)}
),
-- A minute before, since the summary that the kubelet found low is one of its own; but not in the episode before
bounded AS (
    SELECT
        *,
        assumeNotNull(greatest(began_at - toIntervalMinute(1), coalesce(
            lagInFrame(toNullable(ended_at)) OVER (PARTITION BY cluster, node, condition ORDER BY began_at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
            began_at - toIntervalMinute(1)))) AS from_at
    FROM episodes
),
sampled AS (
    SELECT
        cluster, node, ts,
        arrayJoin(['MemoryPressure', 'DiskPressure']) AS condition,
        if(condition = 'MemoryPressure', memory_available_bytes,
            least(coalesce(nodefs_available_bytes, imagefs_available_bytes), coalesce(imagefs_available_bytes, nodefs_available_bytes))) AS available,
        if(condition = 'DiskPressure', imagefs_used_bytes, NULL) AS used
    FROM node_samples
    WHERE (cluster, node) IN (SELECT cluster, node FROM episodes) AND ts >= (SELECT min(from_at) FROM bounded)
),
layers AS (
    SELECT cluster, node, ts, sum(rootfs_used_bytes) AS bytes
    FROM pod_samples
    WHERE (cluster, node) IN (SELECT cluster, node FROM episodes WHERE condition = 'DiskPressure') AND ts >= (SELECT min(from_at) FROM bounded)
    GROUP BY cluster, node, ts
),
measured AS (
    SELECT
        e.cluster AS cluster, e.node AS node, e.condition AS condition, e.began_at AS began_at,
        min(s.available) AS lowest, argMax(s.available, s.ts) AS last,
        max(s.images) - argMax(s.images, s.ts) AS images_freed
    FROM (SELECT s.*, if(s.used IS NULL, NULL, greatest(0, s.used - l.bytes)) AS images FROM sampled AS s LEFT JOIN layers AS l USING (cluster, node, ts)) AS s
    ASOF INNER JOIN bounded AS e ON s.cluster = e.cluster AND s.node = e.node AND s.condition = e.condition AND s.ts >= e.from_at
    WHERE s.ts <= coalesce(e.ended_at, s.ts)
    GROUP BY cluster, node, condition, began_at
),
evicted AS (
    SELECT e.cluster AS cluster, e.node AS node, e.condition AS condition, e.began_at AS began_at, count() AS pods
    FROM (
        SELECT cluster, node, ts, {resource_condition} AS its, arrayJoin(if(its = '', ['MemoryPressure', 'DiskPressure', 'PIDPressure'], [its])) AS condition
        FROM evictions
        WHERE cause = 'pressure'
    ) AS v
    ASOF INNER JOIN bounded AS e ON v.cluster = e.cluster AND v.node = e.node AND v.condition = e.condition AND v.ts >= e.from_at
    WHERE v.ts <= coalesce(e.ended_at, v.ts)
    GROUP BY cluster, node, condition, began_at
)
SELECT
    e.cluster AS cluster, e.node AS node, e.condition AS condition, e.began_at AS began_at, e.ended_at AS ended_at,
    e.lasted_seconds AS lasted_seconds, e.evidence AS evidence, v.pods AS evicted_pods,
    m.lowest AS lowest_available_bytes, m.last AS last_available_bytes, m.images_freed AS images_freed_bytes
FROM episodes AS e
LEFT JOIN measured AS m USING (cluster, node, condition, began_at)
LEFT JOIN evicted AS v USING (cluster, node, condition, began_at)
ORDER BY began_at, cluster, node, condition
