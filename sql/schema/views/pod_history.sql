CREATE OR REPLACE VIEW pod_history AS
SELECT *
FROM pod_samples_5m FINAL
COMMENT 'The roll-up of a pod, a row for each five minutes: kept longer than its samples'
