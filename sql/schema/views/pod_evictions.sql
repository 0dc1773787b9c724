CREATE OR REPLACE VIEW pod_evictions AS
SELECT *
FROM evictions FINAL
COMMENT 'Each eviction once: with the time of a witness that has it, else the last row'
