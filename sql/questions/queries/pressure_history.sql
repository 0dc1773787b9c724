-- When each node was under pressure, for how long so far, and what the kubelet evicted or deleted
-- group Evictions and pressure
-- needs nodes
-- events NodeHasDiskPressure, NodeHasInsufficientMemory, NodeHasInsufficientPID
-- shows node, condition, began_at, lasted_seconds, evicted_pods, lowest_available_bytes, images_freed_bytes
-- newest
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not ended before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: begun before
WITH changes AS
(
    SELECT
        cluster,
        node,
        condition,
        ts,
        status,
        evidence,
        lasted_seconds,
        row_number() OVER each AS place,
        leadInFrame(toNullable(ts)) OVER (each ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next_at
    FROM pressure_changes
    WHERE NOT kubelet_restart
        AND ({cluster:String} = '' OR cluster = {cluster:String})
        AND ({node:String} = '' OR node = {node:String})
    WINDOW each AS (PARTITION BY cluster, node, condition ORDER BY ts)
),
episodes AS
(
    SELECT
        c.cluster AS cluster,
        c.node AS node,
        c.condition AS condition,
        if(c.status, c.ts, c.ts - toIntervalMicrosecond(round(c.lasted_seconds * 1e6))) AS began_at,
        if(c.status, c.next_at, c.ts) AS ended_at,
        dateDiff('microsecond', began_at, coalesce(ended_at, greatest(k.last, began_at))) / 1e6 AS lasted_seconds,
        c.evidence AS evidence
    FROM changes AS c
    LEFT JOIN
    (
        SELECT cluster, max(seen_at) AS last
        FROM
        (
            SELECT cluster, max(last_at) AS seen_at FROM node_samples_5m GROUP BY cluster
            UNION ALL SELECT cluster, max(ts) FROM nodes GROUP BY cluster
            UNION ALL SELECT cluster, max(observed_at) FROM node_events GROUP BY cluster
        )
        GROUP BY cluster
    ) AS k ON k.cluster = c.cluster
    WHERE (c.status OR (c.place = 1 AND c.lasted_seconds IS NOT NULL))
        AND began_at < {until:DateTime64(6)} AND coalesce(ended_at, {since:DateTime64(6)}) >= {since:DateTime64(6)}
),
-- A minute before, since the summary that the kubelet found low is one of its own
measured AS
(
    SELECT
        e.cluster AS cluster,
        e.node AS node,
        e.condition AS condition,
        e.began_at AS began_at,
        min(multiIf(
            e.condition = 'MemoryPressure', s.memory_available_bytes,
            e.condition = 'DiskPressure', least(coalesce(s.nodefs_available_bytes, s.imagefs_available_bytes), coalesce(s.imagefs_available_bytes, s.nodefs_available_bytes)),
            NULL) AS available) AS lowest,
        argMax(available, s.ts) AS last,
        if(e.condition = 'DiskPressure', max(s.imagefs_used_bytes) - argMax(s.imagefs_used_bytes, s.ts), NULL) AS images_freed
    FROM episodes AS e
    INNER JOIN node_samples AS s ON s.cluster = e.cluster AND s.node = e.node
    WHERE s.ts >= e.began_at - INTERVAL 1 MINUTE AND s.ts <= coalesce(e.ended_at, s.ts)
    GROUP BY cluster, node, condition, began_at
)
SELECT
    e.cluster AS cluster,
    e.node AS node,
    e.condition AS condition,
    e.began_at AS began_at,
    e.ended_at AS ended_at,
    e.lasted_seconds AS lasted_seconds,
    e.evidence AS evidence,
    v.evicted AS evicted_pods,
    m.lowest AS lowest_available_bytes,
    m.last AS last_available_bytes,
    m.images_freed AS images_freed_bytes
FROM episodes AS e
LEFT JOIN measured AS m USING (cluster, node, condition, began_at)
LEFT JOIN
(
    SELECT cluster, node, condition, began_at, countIf(v.ts >= began_at - INTERVAL 1 MINUTE AND v.ts <= coalesce(ended_at, v.ts)) AS evicted
    FROM episodes AS e
    INNER JOIN (SELECT * FROM evictions WHERE cause = 'pressure') AS v USING (cluster, node)
    WHERE v.resource IN multiIf(condition = 'MemoryPressure', ['memory'], condition = 'DiskPressure', ['ephemeral-storage', 'inodes'], ['pids'])
    GROUP BY cluster, node, condition, began_at
) AS v USING (cluster, node, condition, began_at)
ORDER BY began_at, cluster, node, condition
