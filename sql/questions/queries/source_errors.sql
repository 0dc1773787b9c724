-- Which sources could not be read, were silent, or may have missed something
-- group What is not known
-- shows node, resource, times, last_at, last_error
-- was sample_gaps kind=sample_gap
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param kind String '': only this kind, as silent; sample_gap, of gaps between two samples of a node, is listed only so; empty is all
-- param seconds UInt32 60: gaps of at least so many seconds
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
SELECT
    cluster,
    node,
    resource,
    kind,
    count() AS times,
    min(ts) AS first_at,
    max(ts) AS last_at,
    max(silent_seconds) AS longest_silence_seconds,
    argMax(error, (ts, error)) AS last_error
FROM
(
    SELECT cluster, ts, node, resource, kind, silent_seconds, error FROM source_errors
    UNION ALL
    SELECT cluster, ts, node, 'stats/summary', 'sample_gap', toFloat64(dateDiff('second', before, ts)) AS gap, concat('no sample since ', toString(before))
    FROM
    (
        SELECT cluster, node, ts, lagInFrame(toNullable(ts)) OVER (PARTITION BY cluster, node ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS before
        FROM node_samples
        WHERE {kind:String} = 'sample_gap'
    )
    WHERE gap >= {seconds:UInt32}
)
WHERE ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
    AND ({kind:String} = '' OR kind = {kind:String})
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
GROUP BY cluster, node, resource, kind
ORDER BY last_at DESC, cluster, node, resource, kind
