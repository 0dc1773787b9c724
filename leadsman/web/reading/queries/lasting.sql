-- Changes of what lasts: pressure conditions, and nodes that are not Ready, each until the node is gone
SELECT node, kind, what, ts, status
FROM (
    SELECT
        node, kind, what, ts, status,
        lagInFrame(status, 1, 0) OVER (
            PARTITION BY node, kind, what ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS before
    FROM (
        SELECT node, 'pressure' AS kind, condition AS what, ts, status
        FROM pressure_changes
        WHERE cluster = {cluster:String} AND ({node:String} = '' OR node = {node:String}) AND ts < {until:DateTime64(6)}
            AND (NOT kubelet_restart OR lasted_seconds IS NOT NULL)
        UNION ALL
        SELECT node, 'pressure' AS kind, arrayJoin(['MemoryPressure', 'DiskPressure', 'PIDPressure']) AS what, ts, toUInt8(0) AS status
        FROM nodes
        WHERE cluster = {cluster:String} AND ({node:String} = '' OR node = {node:String}) AND ts < {until:DateTime64(6)} AND deleted
        UNION ALL
        SELECT node, 'node' AS kind, 'Not Ready' AS what, ts, toUInt8(deleted = 0 AND ifNull(ready = 0, ready_message != '')) AS status
        FROM nodes
        WHERE cluster = {cluster:String} AND ({node:String} = '' OR node = {node:String}) AND ts < {until:DateTime64(6)}
    )
)
WHERE status != before
ORDER BY node, kind, what, ts
