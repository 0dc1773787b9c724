-- When each node was under pressure, and for how long: so far, where it has not ended
-- group Evictions and pressure
-- needs nodes
-- events NodeHasDiskPressure, NodeHasInsufficientMemory, NodeHasInsufficientPID
-- shows node, condition, began_at, ended_at, lasted_seconds
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
)
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
ORDER BY began_at, cluster, node, condition
