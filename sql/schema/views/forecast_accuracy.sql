-- column ts: The sample that the forecast was made at
-- column signal: Eviction signal, for example memory.available
-- column threshold: hard or soft
-- column predicted_seconds: Forecast seconds until the threshold
-- column actual_seconds: Seconds until it was met; null if it was not
-- column error_seconds: Predicted minus actual seconds: above 0 it came sooner than forecast; null if it was not met
-- column in_band: 1 if it was met between the earliest and the latest time, 0 if not; null without a band, and while open
-- column outcome: met, not_met or open (the samples end before)
CREATE OR REPLACE VIEW forecast_accuracy AS
WITH
    approaching AS (
        -- Few signals ever near a threshold, and which they are does not need merged rows
        SELECT DISTINCT cluster, node, signal
        FROM (
            SELECT cluster, node, signal
            FROM eviction_signals
            WHERE hard_met OR soft_met OR seconds_to_hard IS NOT NULL OR seconds_to_soft IS NOT NULL
            SETTINGS final = 0
        )
    ),
    signals AS (
        SELECT
            s.cluster AS cluster, s.ts AS ts, s.node AS node, s.signal AS signal, t.1 AS threshold, t.2 AS seconds,
            t.3 AS met, t.4 AS earliest, t.5 AS latest, s.gc_first AS gc_first, s.acts_first AS acts_first
        FROM (
            SELECT
                *,
                arrayJoin([
                    ('hard', seconds_to_hard, hard_met, seconds_to_hard_earliest, seconds_to_hard_latest),
                    ('soft', seconds_to_soft, soft_met, seconds_to_soft_earliest, seconds_to_soft_latest)
                ]) AS t
            FROM eviction_signals FINAL
            WHERE (cluster, node, signal) IN (SELECT cluster, node, signal FROM approaching)
        ) AS s
    ),
    evicted AS (
        SELECT e.cluster AS cluster, e.ts AS ts, e.node AS node, e.signal AS signal, t.1 AS threshold
        FROM (
            SELECT cluster, ts, node, signal, threshold AS bytes FROM evictions FINAL WHERE cause = 'pressure' AND time_known
        ) AS e
        ASOF INNER JOIN (
            SELECT cluster, ts, node, signal, [('hard', hard_threshold), ('soft', soft_threshold)] AS thresholds
            FROM eviction_signals FINAL
            WHERE (cluster, node, signal) IN (SELECT cluster, node, signal FROM evictions WHERE cause = 'pressure' AND time_known)
        ) AS s ON s.cluster = e.cluster AND s.node = e.node AND s.signal = e.signal AND s.ts <= e.ts
        ARRAY JOIN s.thresholds AS t
        WHERE t.2 = e.bytes
    ),
    lasts AS (
        SELECT cluster, node, signal, max(ts) AS ts
        FROM eviction_signals
        WHERE (cluster, node, signal) IN (SELECT cluster, node, signal FROM approaching)
        GROUP BY cluster, node, signal
    )
SELECT
    p.cluster AS cluster, p.ts AS ts, p.node AS node, p.signal AS signal, p.threshold AS threshold,
    p.seconds AS predicted_seconds,
    if(m.is_met, dateDiff('microsecond', p.ts, m.ts) / 1e6, NULL) AS actual_seconds,
    predicted_seconds - actual_seconds AS error_seconds,
    multiIf(
        m.is_met, 'met',
        dateDiff('microsecond', p.ts, l.ts) / 1e6 >= p.seconds, 'not_met',
        'open') AS outcome,
    if(outcome = 'open', NULL, if(m.is_met, p.earliest <= actual_seconds AND actual_seconds <= p.latest, p.latest * 0)) AS in_band,
    p.gc_first AS gc_first, p.acts_first AS acts_first
FROM (SELECT * FROM signals WHERE NOT met AND seconds IS NOT NULL) AS p
ASOF LEFT JOIN (
    SELECT cluster, ts, node, signal, threshold, 1 AS is_met FROM signals WHERE met
    UNION ALL
    SELECT cluster, ts, node, signal, threshold, 1 AS is_met FROM evicted
) AS m ON m.cluster = p.cluster AND m.node = p.node AND m.signal = p.signal AND m.threshold = p.threshold AND p.ts < m.ts
INNER JOIN lasts AS l ON l.cluster = p.cluster AND l.node = p.node AND l.signal = p.signal
COMMENT 'Each forecast of a threshold with its outcome. met: the next time that a sample or an eviction showed it. not_met: its time passed. open: its time is after the last sample. A positive error_seconds came too late'
