-- Where samples are missing: gaps between two samples of a node
-- form source_errors gap
-- shows node, gap_from, gap_to, gap_seconds
-- needs samples
-- newest
-- param cluster, node
-- param seconds UInt32 60: gaps of at least this many seconds
-- param since, until
SELECT cluster, node, before AS gap_from, ts AS gap_to, dateDiff('second', before, ts) AS gap_seconds
FROM (
    SELECT
        cluster, node, ts,
        lagInFrame(toNullable(ts)) OVER (PARTITION BY cluster, node ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS before
    FROM node_samples
)
WHERE before IS NOT NULL AND gap_seconds >= {seconds:UInt32} AND {filters cluster, node, ts}
ORDER BY gap_from, cluster, node
