-- When a node was last seen up to the end and first after it, by its object, samples, Events, pods and its kubelet's log; and when its object was last seen deleted
SELECT
    maxOrNullIf(at, NOT gone AND at < {until:DateTime64(6)}) AS before,
    minOrNullIf(at, NOT gone AND at >= {until:DateTime64(6)}) AS after,
    maxOrNullIf(at, gone AND at < {until:DateTime64(6)}) AS deleted_at
FROM (
    SELECT ts AS at, deleted AS gone FROM nodes WHERE cluster = {cluster:String} AND node = {node:String}
    UNION ALL SELECT arrayJoin([first_at, last_at]) AS at, 0 AS gone FROM node_samples_5m WHERE cluster = {cluster:String} AND node = {node:String}
    UNION ALL SELECT ts AS at, 0 AS gone FROM node_events WHERE cluster = {cluster:String} AND node = {node:String}
    UNION ALL SELECT ts AS at, 0 AS gone FROM pod_bindings WHERE cluster = {cluster:String} AND node = {node:String} AND change != 'deleted'
    UNION ALL SELECT ts AS at, 0 AS gone FROM kubelet_log WHERE cluster = {cluster:String} AND node = {node:String}
    UNION ALL SELECT ts AS at, 0 AS gone FROM pod_ends WHERE cluster = {cluster:String} AND node = {node:String}
    UNION ALL SELECT ts AS at, 0 AS gone FROM evictions WHERE cluster = {cluster:String} AND node = {node:String}
)
SETTINGS final = 0
