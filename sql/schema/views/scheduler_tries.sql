-- rules: scheduling-queue.
-- column uid: UID of a pod
-- column tried_at: When an Event of the scheduler last said that it found no node for it
-- column is_recent: 1 if that was within six minutes before the newest sign of the cluster; a scheduler repeats itself at least that often
CREATE OR REPLACE VIEW scheduler_tries AS
SELECT e.cluster AS cluster, e.uid AS uid, e.tried_at AS tried_at, e.tried_at >= s.seen_at - toIntervalMinute(6) AS is_recent
FROM (
    SELECT cluster, object_uid AS uid, max(ts) AS tried_at
    FROM node_events FINAL
    WHERE reason = 'FailedScheduling' AND object_uid != '' AND component IN ('', {default_scheduler})
    GROUP BY cluster, uid
) AS e
LEFT JOIN (SELECT cluster, max(ts) AS seen_at FROM node_fit_latest GROUP BY cluster) AS s ON s.cluster = e.cluster
COMMENT 'When the scheduler last failed to place each pod'
