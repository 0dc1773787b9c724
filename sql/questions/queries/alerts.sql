-- Alerts of the last hours before the end of what is known, the newest first
-- group What happened
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param hours UInt32 24: so many hours back from the last alert, of the cluster where one is given
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
WHERE starts_at >= (SELECT max(starts_at) FROM alerts WHERE {cluster:String} = '' OR cluster = {cluster:String}) - toIntervalHour({hours:UInt32})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY starts_at DESC, alertname, node
