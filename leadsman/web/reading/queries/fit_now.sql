-- What each node has, promises and uses at the end
SELECT n.*, r.wants[n.resource] AS deferred
FROM (
    SELECT
        node, resource, argMaxMerge(capacity_last) AS capacity, argMaxMerge(allocatable_last) AS allocatable,
        argMaxMerge(requested_last) AS requested,
        nullIf(argMaxMerge(used_last), -1) AS used,
        argMaxMerge(pods_last) AS pods
    FROM node_fit_5m
    WHERE cluster = {cluster:String} AND ts >= {first:DateTime64(6)} AND ts < {until:DateTime64(6)} AND last_at < {until:DateTime64(6)} AND {filters node}
    GROUP BY node, resource
) AS n
LEFT JOIN (
    SELECT node, sumMap(more) AS wants FROM pending_resizes WHERE cluster = {cluster:String} AND state = 'deferred' GROUP BY node
) AS r ON r.node = n.node
ORDER BY node, resource
SETTINGS final = 0
