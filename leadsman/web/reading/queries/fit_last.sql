-- When what each node has, promises and uses was last observed
SELECT node, max(ts) AS last_at
FROM node_fit_5m
WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND {filters node}
GROUP BY node
SETTINGS final = 0
