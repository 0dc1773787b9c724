-- Alerts that fired in the range, each in its latest state: firing first
SELECT alertname, severity, node, starts_at, latest.1 AS status, latest.2 AS ends_at, latest.3 AS annotations, latest.4 = 'unknown' AS unknown, labels['resource'] AS resource, labels
FROM (
    SELECT
        a.alertname AS alertname, a.severity AS severity, a.node AS node, a.starts_at AS starts_at,
        any(a.labels) AS labels,
        argMax((a.status, a.ends_at, a.annotations, a.reason), (a.ts, a.status = 'resolved')) AS latest
    FROM alerts AS a
    WHERE a.cluster = {cluster:String} AND a.ts < {until:DateTime64(6)} AND ({node:String} = '' OR a.node = {node:String})
        AND ({namespace:String} = '' OR a.labels['namespace'] IN ('', {namespace:String}))
    GROUP BY a.alertname, a.severity, a.node, a.fingerprint, a.starts_at
)
WHERE status = 'firing' OR coalesce(ends_at, starts_at) >= {since:DateTime64(6)}
ORDER BY status = 'firing' DESC, starts_at DESC, alertname, node
LIMIT 500
