-- When each of some nodes was last sampled up to the end, however long before the range
SELECT node, max(last_at) AS last_at
FROM node_samples_5m
WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts < {until:DateTime64(6)}
GROUP BY node
SETTINGS final = 0
