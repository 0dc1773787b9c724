-- column owner: Its controlling owner, as ReplicaSet/name, or empty
-- column node: The node that it is bound to, or empty if it is not scheduled
-- column since: When it was created, or first seen Pending where that is unknown
-- column or_earlier: 1 if it may have been created before `since`, because its creation is unknown
-- column until: When it was first seen no longer Pending, or when a later Event says that it was bound; null if it is still Pending
-- column reason: Reason in its status, or of its condition PodScheduled
-- column why: The last words about it, of the scheduler, a Warning Event or its own status
-- column event: Reason of the Warning Event that `why` quotes; empty if it quotes no Event
-- column autoscaler: The last words about it of what adds nodes, with its name; empty if it said nothing
CREATE OR REPLACE VIEW pod_waits AS
SELECT
    b.cluster AS cluster, b.namespace AS namespace, b.pod AS pod, b.uid AS uid, b.owner AS owner, b.node AS node,
    b.since AS since,
    b.or_earlier AS or_earlier,
    if(b.until IS NULL AND b.node = '' AND s.uid != '', greatest(s.bound_at, b.waited_at), b.until) AS until,
    b.reason AS reason,
    multiIf(
        b.node = '' AND notEmpty(b.waits_for), b.waits_for,
        b.node = '' AND notEmpty(f.why), f.why,
        notEmpty(e.why), e.why,
        notEmpty(b.waits_for), b.waits_for,
        b.reason) AS why,
    if(b.node = '' AND (notEmpty(b.waits_for) OR notEmpty(f.why)), '', e.event) AS event,
    e.autoscaler AS autoscaler
FROM (
    SELECT
        cluster, namespace, pod, uid,
        argMax(if(owner_name = '', '', concat(owner_kind, '/', owner_name)), ts) AS owner,
        argMax(node, (ts, node)) AS node,
        minIf(ifNull(created_at, ts), waiting) AS since,
        argMinIf(created_at IS NULL, ifNull(created_at, ts), waiting) AS or_earlier,
        if(argMax(waiting, (ts, NOT waiting)), NULL, minIf(ts, NOT waiting)) AS until,
        maxIf(ts, waiting) AS waited_at, argMaxIf(reason, ts, waiting) AS reason,
        argMaxIf(waits_for, ts, waiting) AS waits_for
    FROM (SELECT *, {is_waiting} AS waiting FROM pod_bindings FINAL)
    GROUP BY cluster, namespace, pod, uid
    HAVING countIf(waiting) > 0
) AS b
LEFT JOIN (
    SELECT
        cluster, uid,
        argMax(why, (text_source = 'condition', ts)) AS why
    FROM scheduling_failures FINAL
    GROUP BY cluster, uid
) AS f ON f.cluster = b.cluster AND f.uid = b.uid
LEFT JOIN (
    SELECT
        cluster, object_uid AS uid,
        -- Volumes that are waited for name no cause, which other Events of these minutes do
        argMaxIf(
            (concat(reason, ': ', message), toString(reason)),
            (ts - toIntervalMinute(reason = 'FailedMount' AND position(message, 'timed out waiting for') > 0 ? 10 : 0), message),
            type = 'Warning' AND component NOT IN (SELECT component FROM autoscalers)) AS warning,
        warning.1 AS why, warning.2 AS event,
        argMaxIf(concat(component, ': ', message), (ts, message), component IN (SELECT component FROM autoscalers)) AS autoscaler
    FROM node_events FINAL
    PREWHERE object_kind = 'Pod' AND
        (type = 'Warning' OR reason IN ('Nominated', 'NotTriggerScaleUp', 'TriggeredScaleUp'))
    GROUP BY cluster, object_uid
) AS e ON e.cluster = b.cluster AND e.uid = b.uid
LEFT JOIN bound_by_event AS s ON s.cluster = b.cluster AND s.uid = b.uid
COMMENT 'How long each pod was Pending, unscheduled or not started, and the last words about why'
