-- column state: NotReady if its kubelet, an Event or a table of kubectl reports it; Unknown if its kubelet does not report; the last state seen
-- column since: Since when, by its condition Ready
-- column until: When it was Ready again or its Node was deleted; null while it lasts
-- column message: The first message of the condition Ready; from the node controller if the kubelet does not report; empty if only an Event or a table of kubectl shows it
-- column last_sample_at: Its last statistics before; null if none was seen
-- column silent_seconds: From then until it was not Ready; null if none was seen
-- column lease_age_seconds: Age of its Lease in seconds when that was last read while it was not Ready; null if it was not read
-- column pressures: Conditions that held then or had ended within ten minutes before
-- column evictions: Pods evicted for pressure in the 15 minutes before
-- column memory_full_percent: The most of a minute in which all work stalled on memory, in the ten minutes before; null if nothing was reported
-- column io_full_percent: The most of a minute in which all work stalled on I/O, in the ten minutes before; null if nothing was reported
-- column before: Pressures, evictions and stalls before, in words; unknown without statistics in the ten minutes before, if no pressure was seen
CREATE OR REPLACE VIEW not_ready AS
WITH
    arrayStringConcat(pressures, ', ') AS conditions,
    ifNull(silent_seconds <= 600, 0) AS was_seen,
    outages AS (
        SELECT
            cluster, node, outage, any(is_out) AS out, argMax(state, ts) AS state, min(began) AS since, min(ts) AS seen_at, argMin(ready_message, ts) AS message,
            leadInFrame(toNullable(min(began))) OVER (PARTITION BY cluster, node ORDER BY outage ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS until
        FROM (
            SELECT *, sum(toUInt64(before != is_out)) OVER (PARTITION BY cluster, node ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS outage
            FROM (
                SELECT
                    cluster, node, ts, ready_message, if(deleted, ts, ifNull(ready_since, ts)) AS began,
                    {ready_state} AS state,
                    toUInt8(state IN ('Unknown', 'NotReady')) AS is_out,
                    lagInFrame(is_out, 1, 2) OVER (PARTITION BY cluster, node ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS before
                FROM nodes FINAL
            )
        )
        GROUP BY cluster, node, outage
    ),
    begun AS (SELECT cluster, node, state, since, seen_at, until, message FROM outages WHERE out),
    pressed AS (
        SELECT cluster, node, since, arraySort(groupArray(condition)) AS pressures
        FROM (
            SELECT b.cluster AS cluster, b.node AS node, b.since AS since, p.condition AS condition, argMax(p.status, p.ts) AS status, max(p.ts) AS at
            FROM begun AS b
            INNER JOIN (SELECT cluster, node, condition, ts, status FROM pressure_changes FINAL WHERE NOT kubelet_restart) AS p ON p.cluster = b.cluster AND p.node = b.node
            WHERE p.ts <= b.since
            GROUP BY b.cluster, b.node, b.since, p.condition
            HAVING status OR at >= b.since - toIntervalMinute(10)
        )
        GROUP BY cluster, node, since
    ),
    evicted AS (
        SELECT b.cluster AS cluster, b.node AS node, b.since AS since, count() AS evictions
        FROM begun AS b
        INNER JOIN (SELECT cluster, node, ts FROM evictions FINAL WHERE cause = 'pressure') AS e ON e.cluster = b.cluster AND e.node = b.node
        WHERE e.ts BETWEEN b.since - toIntervalMinute(15) AND b.since
        GROUP BY b.cluster, b.node, b.since
    ),
    stalled AS (
        SELECT b.cluster AS cluster, b.node AS node, b.since AS since, max(s.memory_full_percent) AS memory_full_percent, max(s.io_full_percent) AS io_full_percent
        FROM begun AS b
        INNER JOIN (SELECT cluster, node, ts, memory_full_percent, io_full_percent FROM node_stalls FINAL) AS s ON s.cluster = b.cluster AND s.node = b.node
        WHERE s.ts BETWEEN b.since - toIntervalMinute(10) AND b.since
        GROUP BY b.cluster, b.node, b.since
    ),
    leased AS (
        SELECT b.cluster AS cluster, b.node AS node, b.since AS since, argMax(tuple(l.age_seconds), l.ts).1 AS age_seconds
        FROM begun AS b
        INNER JOIN (SELECT cluster, node, ts, age_seconds FROM node_leases FINAL) AS l ON l.cluster = b.cluster AND l.node = b.node
        WHERE l.ts >= b.seen_at AND (b.until IS NULL OR l.ts < b.until)
        GROUP BY b.cluster, b.node, b.since
    ),
    sampled AS (
        SELECT b.cluster AS cluster, b.node AS node, b.since AS since, max(least(s.last_at, b.since)) AS last_at
        FROM begun AS b
        INNER JOIN (SELECT cluster, node, first_at, last_at FROM node_samples_5m FINAL) AS s ON s.cluster = b.cluster AND s.node = b.node
        WHERE s.first_at <= b.since
        GROUP BY b.cluster, b.node, b.since
    )
SELECT
    b.cluster AS cluster, b.node AS node, b.state AS state, b.since AS since, b.until AS until, b.message AS message,
    nullIf(a.last_at, toDateTime64(0, 6, 'UTC')) AS last_sample_at,
    dateDiff('second', last_sample_at, b.since) AS silent_seconds,
    l.age_seconds AS lease_age_seconds, p.pressures AS pressures, e.evictions AS evictions,
    s.memory_full_percent AS memory_full_percent, s.io_full_percent AS io_full_percent, {before_not_ready} AS before
FROM begun AS b
LEFT JOIN pressed AS p ON p.cluster = b.cluster AND p.node = b.node AND p.since = b.since
LEFT JOIN evicted AS e ON e.cluster = b.cluster AND e.node = b.node AND e.since = b.since
LEFT JOIN stalled AS s ON s.cluster = b.cluster AND s.node = b.node AND s.since = b.since
LEFT JOIN leased AS l ON l.cluster = b.cluster AND l.node = b.node AND l.since = b.since
LEFT JOIN sampled AS a ON a.cluster = b.cluster AND a.node = b.node AND a.since = b.since
COMMENT 'When each node was not Ready, and what was under pressure before'
