-- rules: scheduler-volumes.
-- column facts: What the scheduler uses of it, as JSON
CREATE OR REPLACE VIEW scheduled_now AS
WITH
    parts AS (
        SELECT l.cluster AS cluster, l.resource AS resource, l.ts AS ts, l.after AS after, l.until AS until, l.uids AS uids
        FROM (SELECT * FROM scheduled_lists FINAL) AS l
        INNER JOIN (
            SELECT cluster, resource, max(ts) AS began
            FROM scheduled_lists
            WHERE after = ''
            GROUP BY cluster, resource
        ) AS newest ON newest.cluster = l.cluster AND newest.resource = l.resource
        WHERE l.ts >= newest.began
    ),
    latest AS (
        SELECT cluster, ts, resource, namespace, name, uid, deleted, facts
        FROM scheduled_objects FINAL
        ORDER BY ts DESC
        LIMIT 1 BY cluster, resource, namespace, name
    )
SELECT o.cluster AS cluster, o.ts AS ts, o.resource AS resource, o.namespace AS namespace, o.name AS name, o.uid AS uid, o.facts AS facts
FROM latest AS o
LEFT JOIN (SELECT cluster, resource, uid, 1 AS found FROM parts ARRAY JOIN uids AS uid) AS p
    ON p.cluster = o.cluster AND p.resource = o.resource AND p.uid = o.uid
LEFT JOIN (
    SELECT cluster, resource, groupArray((after, until, ts)) AS spans
    FROM parts
    GROUP BY cluster, resource
) AS s ON s.cluster = o.cluster AND s.resource = o.resource
WHERE NOT o.deleted
    AND (p.found OR NOT arrayExists(
        span -> o.ts <= span.3 AND o.uid > span.1 AND (span.2 = '' OR o.uid <= span.2),
        s.spans))
COMMENT 'Objects besides nodes and pods that the scheduler uses, if they exist now'
