-- Times of Events are whole seconds; an older pod can have had its name, which of a text is its uid.
-- column bound_at: When the Event Scheduled came; of a name, after its pod was last seen to wait
CREATE OR REPLACE VIEW bound_by_event AS
SELECT cluster, uid, maxIf(ts, is_bound) AS bound_at
FROM (
    SELECT cluster, object_uid AS uid, ts, reason = 'Scheduled' AS is_bound
    FROM node_events
    PREWHERE object_kind = 'Pod' AND object_uid != '' AND reason IN ('Scheduled', 'FailedScheduling')
        AND (cluster, object_uid) IN (
            SELECT cluster, uid FROM pod_bindings GROUP BY cluster, uid HAVING argMax(node, (ts, node)) = '' SETTINGS final = 0
            UNION ALL
            SELECT cluster, object_uid FROM node_events WHERE reason = 'FailedScheduling' AND object_kind = 'Pod' SETTINGS final = 0
        )
    SETTINGS final = 0
    UNION ALL
    SELECT cluster, uid, toStartOfSecond(ts) AS ts, toUInt8(0) AS is_bound
    FROM pod_bindings
    WHERE change = 'pending'
    SETTINGS final = 0
)
GROUP BY cluster, uid
HAVING bound_at > toDateTime64(0, 6, 'UTC') AND (position(uid, '/') = 0 OR bound_at >= maxIf(ts, NOT is_bound))
COMMENT 'Pods without a node that their scheduler bound, as only its Event shows: such a pod waits no more'
