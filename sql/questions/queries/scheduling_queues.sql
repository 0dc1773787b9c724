-- Pods in each queue of the scheduler when it was last seen, and when they leave it
-- form pending_pods queue
-- needs queues
-- shows ts, queue, pods, leaves_when
-- param cluster
SELECT cluster, scheduler, ts, queue, pods, leaves_when
FROM scheduling_queues
WHERE (cluster, scheduler, ts) IN
    (
        -- A scheduler that was asked and no longer leads has no newer queues than those that it had then
        SELECT cluster, scheduler, seen
        FROM (
            SELECT cluster, scheduler, max(ts) AS seen, max(if(scheduler = '', toDateTime64(0, 6, 'UTC'), seen)) OVER (PARTITION BY cluster) AS newest
            FROM scheduling_queues
            GROUP BY cluster, scheduler
        )
        WHERE scheduler = '' OR seen >= newest - INTERVAL 5 MINUTE
    )
    AND {filters cluster}
ORDER BY cluster, scheduler, indexOf(['active', 'backoff', 'unschedulable', 'gated'], queue)
