-- When each node was last sampled in the range: of five minutes that go on after the end, only the first sample is known
SELECT node, max(if(s.last_at < {until:DateTime64(6)}, s.last_at, s.first_at)) AS last_at
FROM node_samples_5m AS s
WHERE cluster = {cluster:String} AND ts >= toStartOfInterval({since:DateTime64(6)}, toIntervalMinute(5)) AND ts < {until:DateTime64(6)}
    AND s.last_at >= {since:DateTime64(6)} AND s.first_at < {until:DateTime64(6)} AND {filters node}
GROUP BY node
ORDER BY node
SETTINGS final = 0
