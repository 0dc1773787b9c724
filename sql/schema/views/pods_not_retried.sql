-- rules: scheduling-queue.
-- Pods of another scheduler are left out: whether and when it tries again is unknown, and a gang waits for its last pod.
-- column nodes: Nodes that would take it now
-- column tried_at: When the scheduler last was seen to try
-- column silent_seconds: From then until the newest sign of the cluster
-- column verdict: not_retried: no try for 40 minutes, longer than any version of the scheduler waits. contradicted: it was tried within six minutes and did not fit, though nothing freed space since, so the scheduler and the API disagree. waiting: it will be tried again. unknown: no Event about it was seen
CREATE OR REPLACE VIEW pods_not_retried AS
WITH
    freed AS (
        -- When a node last got room, as far as it was seen: a pod ended or went, or the Node itself changed or came
        SELECT cluster, node, max(ts) AS freed_at
        FROM (
            SELECT cluster, node, ts FROM pod_bindings WHERE change = 'deleted'
            UNION ALL
            SELECT cluster, node, ts FROM pod_ends
            UNION ALL
            SELECT cluster, node, ts FROM nodes WHERE (cluster, ts) NOT IN (SELECT cluster, min(ts) FROM nodes GROUP BY cluster)
        )
        GROUP BY cluster, node
    ),
    fitting AS (
        SELECT p.cluster AS cluster, namespace, pod, uid, groupArray(p.node) AS nodes, max(scheduled_at) AS text_at, min(f.freed_at) AS freed_at
        FROM pending_fit AS p
        LEFT JOIN freed AS f ON f.cluster = p.cluster AND f.node = p.node
        WHERE fits = 1
            AND (p.cluster, uid) NOT IN (SELECT cluster, uid FROM pod_bindings WHERE JSONExtractString(constraints, 'scheduler') != '')
        GROUP BY p.cluster, namespace, pod, uid
    ),
    signs AS (SELECT cluster, max(ts) AS seen_at FROM node_fit_latest GROUP BY cluster)
SELECT
    f.cluster AS cluster, f.namespace AS namespace, f.pod AS pod, f.uid AS uid, arraySort(f.nodes) AS nodes,
    nullIf(greatest(ifNull(f.text_at, toDateTime64(0, 6, 'UTC')), t.tried_at), toDateTime64(0, 6, 'UTC')) AS tried_at,
    dateDiff('second', tried_at, s.seen_at) AS silent_seconds,
    multiIf(
        t.uid = '', 'unknown',
        silent_seconds > 2400, 'not_retried',
        t.is_recent AND t.tried_at > f.freed_at + toIntervalMinute(1), 'contradicted',
        'waiting') AS verdict
FROM fitting AS f
LEFT JOIN scheduler_tries AS t ON t.cluster = f.cluster AND t.uid = f.uid
LEFT JOIN signs AS s ON s.cluster = f.cluster
COMMENT 'Pending pods that some node would take now, and when the scheduler last tried: a queue that is not woken leaves them pending'
