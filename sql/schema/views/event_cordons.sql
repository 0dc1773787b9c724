-- A kubelet says within seconds that its Node was cordoned, and repeats it when it starts.
-- column ts: When the Event says so
-- column seen_at: When the first version of the Node object more than 90 s after the Event was seen; 1970 if none was
-- column until: When a later Event, or a later version of the Node object, shows that it is over; null if nothing does
-- column in_object: 1 if a version of the Node object that was read has the cordon too, so that its own rows count
-- column by_event: 1 if an Event shows the end, 0 if the Node object does or nothing
CREATE OR REPLACE VIEW event_cordons AS
SELECT
    e.cluster AS cluster, e.node AS node, e.ts AS ts,
    arrayFirst(row -> row.1 > e.ts + toIntervalSecond(90), n.seen).1 AS seen_at,
    arrayLast(row -> row.1 < e.ts, n.seen).2
        OR arrayExists(row -> row.2 AND row.1 >= e.ts - toIntervalSecond(90) AND (e.ended_at IS NULL OR row.1 < e.ended_at), n.seen) AS in_object,
    multiIf(e.ended_at IS NOT NULL, e.ended_at, seen_at > e.ts, toNullable(seen_at), NULL) AS until,
    e.ended_at IS NOT NULL AS by_event
FROM (
    SELECT cluster, node, is_cordoned, ts,
        leadInFrame(toNullable(ts)) OVER (
            PARTITION BY cluster, node ORDER BY ts ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
        ) AS ended_at
    FROM (
        SELECT cluster, object_name AS node, ts, reason = 'NodeNotSchedulable' AS is_cordoned,
            lagInFrame(is_cordoned, 1, 0) OVER (
                PARTITION BY cluster, object_name ORDER BY ts, is_cordoned ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS before
        FROM node_events FINAL
        PREWHERE reason IN ('NodeNotSchedulable', 'NodeSchedulable') AND object_kind = 'Node'
    )
    WHERE is_cordoned != before
) AS e
LEFT JOIN (
    SELECT cluster, node, arraySort(groupArray((ts, unschedulable))) AS seen FROM nodes GROUP BY cluster, node
) AS n ON n.cluster = e.cluster AND n.node = e.node
WHERE e.is_cordoned
COMMENT 'Cordons by the Events of kubelets'
