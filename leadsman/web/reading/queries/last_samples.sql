-- When each of some nodes was last sampled up to the end, however long before the range
SELECT node, max(if(s.last_at < {until:DateTime64(6)}, s.last_at, s.first_at)) AS last_at
FROM node_samples_5m AS s
WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts < {until:DateTime64(6)} AND s.first_at < {until:DateTime64(6)}
GROUP BY node
SETTINGS final = 0
