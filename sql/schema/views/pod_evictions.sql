CREATE OR REPLACE VIEW pod_evictions AS
SELECT *
FROM evictions FINAL
ORDER BY time_known DESC, updated_at DESC, ts
LIMIT 1 BY cluster, namespace, pod, uid, cause
COMMENT 'Each eviction once: with the time of a witness that has it, else as it was last seen, whatever came first'
