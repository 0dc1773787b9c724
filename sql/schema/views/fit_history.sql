-- column ts: Beginning of the five minutes
-- column capacity: At the last row in them, in base units; cpu in millicores
-- column allocatable: At the last row in them, in base units; cpu in millicores
-- column requested: At the last row in them, in base units; cpu in millicores
-- column used: At the last row in them, in base units; cpu in millicores; null if it is not measured
-- column pods: Pods counted at the last row in them
CREATE OR REPLACE VIEW fit_history AS
SELECT
    cluster, ts, node, resource, last_at, used_max, free_min, finalizeAggregation(capacity_last) AS capacity,
    finalizeAggregation(allocatable_last) AS allocatable,
    finalizeAggregation(requested_last) AS requested,
    nullIf(finalizeAggregation(used_last), -1) AS used,
    finalizeAggregation(pods_last) AS pods
FROM node_fit_5m FINAL
COMMENT 'The roll-up of what a node has, promises and uses, a row for each five minutes: kept longer than its samples'
