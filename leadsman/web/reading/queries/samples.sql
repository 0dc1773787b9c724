-- When each node was sampled
SELECT node, min(first_at) AS first_at, max(last_at) AS last_at
FROM node_samples_5m
WHERE cluster = {cluster:String} AND ts >= toStartOfInterval({since:DateTime64(6)}, toIntervalMinute(5)) AND ts < {until:DateTime64(6)}
    AND ({node:String} = '' OR node = {node:String})
GROUP BY node
ORDER BY node
SETTINGS final = 0
