-- Alerts of the last hours before the end of what is known, the newest first
-- group What happened
-- param hours UInt32 24: so many hours back from the last alert
SELECT
    cluster,
    starts_at,
    ends_at,
    status,
    severity,
    alertname,
    node,
    annotations['summary'] AS summary
FROM
(
    SELECT
        cluster,
        fingerprint,
        starts_at,
        max(ends_at) AS ends_at,
        multiIf(ends_at IS NULL, 'firing', argMax(reason, updated_at) = 'unknown', 'unknown', 'resolved') AS status,
        any(severity) AS severity,
        any(alertname) AS alertname,
        any(node) AS node,
        argMax(annotations, updated_at) AS annotations
    FROM alerts FINAL
    GROUP BY cluster, fingerprint, starts_at
)
WHERE starts_at >= (SELECT max(starts_at) FROM alerts) - toIntervalHour({hours:UInt32})
ORDER BY starts_at DESC, alertname, node
