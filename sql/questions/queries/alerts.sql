-- Which alerts fired, the newest first
-- group What happened
-- shows starts_at, status, alertname, severity, summary
-- param cluster, node, since, until
SELECT
    cluster, starts_at, ends_at, status, severity, alertname, node,
    annotations['summary'] AS summary
FROM (
    SELECT
        cluster, fingerprint, starts_at, max(ends_at) AS ends_at,
        multiIf(ends_at IS NULL, 'firing', argMax(reason, updated_at) = 'unknown', 'unknown', 'resolved') AS status,
        any(severity) AS severity, any(alertname) AS alertname, any(node) AS node,
        argMax(annotations, updated_at) AS annotations
    FROM alerts FINAL
    GROUP BY cluster, fingerprint, starts_at
)
WHERE {filters cluster, node} AND starts_at >= {since:DateTime64(6)} AND starts_at < {until:DateTime64(6)}
ORDER BY starts_at DESC, alertname, node, cluster, fingerprint
