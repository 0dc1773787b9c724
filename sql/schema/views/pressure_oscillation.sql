-- column ts: Beginning of the hour
-- column changes: How often the condition changed in the hour
-- column pressure_seconds: How long it was under pressure in the hour, in seconds
-- column longest_relief_seconds: The longest pause in seconds after which pressure came back in the hour; null if it did not
-- column transition_seconds: eviction-pressure-transition-period in seconds
-- column joining_transition_seconds: The transition period in seconds that would have joined what came back into one
-- column settings_assumed: 1 if no /configz was seen and 300 s are used
CREATE OR REPLACE VIEW pressure_oscillation AS
WITH
    changes AS (
        SELECT
            cluster, node, condition, ts, status, kubelet_restart,
            lagInFrame(toNullable(status)) OVER w AS status_before,
            lagInFrame(toNullable(ts)) OVER w AS ts_before,
            lagInFrame(kubelet_restart) OVER w AS restart_before,
            leadInFrame(toNullable(ts)) OVER w AS ts_after
        FROM pressure_changes FINAL
        WHERE NOT kubelet_restart OR lasted_seconds IS NOT NULL
        WINDOW w AS (PARTITION BY cluster, node, condition ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    ),
    last_samples AS (SELECT cluster, node, max(last_at) AS ts FROM node_samples_5m GROUP BY cluster, node),
    hours AS (
        SELECT
            c.cluster AS cluster, c.node AS node, c.condition AS condition, c.ts AS began,
            coalesce(c.ts_after, greatest(c.ts, l.ts)) AS ended,
            arrayJoin(if(c.status, range(toUInt64(intDiv(toUnixTimestamp64Second(began), 3600)), toUInt64(intDiv(toUnixTimestamp64Second(ended), 3600) + 1)), [toUInt64(intDiv(toUnixTimestamp64Second(began), 3600))])) AS hour,
            fromUnixTimestamp64Second(toInt64(hour * 3600), 'UTC') AS hour_began,
            hour = intDiv(toUnixTimestamp64Second(began), 3600) AS is_first,
            toUInt64(is_first AND NOT c.kubelet_restart AND (c.status_before IS NULL OR c.status_before != c.status)) AS changes,
            if(c.status, dateDiff('microsecond', greatest(began, hour_began), least(ended, hour_began + toIntervalHour(1))) / 1e6, 0) AS pressure_seconds,
            if(is_first AND c.status AND c.status_before = 0 AND NOT c.restart_before, dateDiff('microsecond', c.ts_before, c.ts) / 1e6, NULL) AS relief_seconds
        FROM changes AS c
        LEFT JOIN last_samples AS l ON l.cluster = c.cluster AND l.node = c.node
    )
SELECT
    h.cluster AS cluster, h.hour_began AS ts, h.node AS node, h.condition AS condition, sum(h.changes) AS changes,
    sum(h.pressure_seconds) AS pressure_seconds, max(h.relief_seconds) AS longest_relief_seconds,
    any(if(k.seen, k.eviction_pressure_transition_seconds, 300)) AS transition_seconds,
    longest_relief_seconds + transition_seconds AS joining_transition_seconds,
    toUInt8(NOT any(k.seen)) AS settings_assumed
FROM hours AS h
ASOF LEFT JOIN (
    SELECT cluster, ts, node, eviction_pressure_transition_seconds, 1 AS seen
    FROM kubelet_settings FINAL
) AS k ON k.cluster = h.cluster AND k.node = h.node AND h.ended >= k.ts
GROUP BY h.cluster, h.hour_began, h.node, h.condition
HAVING changes > 0 OR pressure_seconds > 0
COMMENT 'Pressure conditions by the hour: how often each changed, how long it was under pressure, and the eviction-pressure-transition-period that would have joined the changes of that hour into one. A start of the kubelet ends pressure and is not a change'
