-- Pods in each queue of the scheduler when it was last seen, and when they leave it
-- form pending_pods queue
-- needs queues
-- shows ts, queue, pods, leaves_when
-- param cluster
SELECT
    cluster,
    scheduler,
    ts,
    queue,
    pods,
    leaves_when
FROM scheduling_queues
WHERE (cluster, scheduler, ts) IN (SELECT cluster, scheduler, max(ts) FROM scheduling_queues GROUP BY cluster, scheduler)
    AND {asked cluster}
ORDER BY cluster, scheduler, indexOf(['active', 'backoff', 'unschedulable', 'gated'], queue)
