-- How many seconds lie between two samples of a node, by the last half hour of samples up to the end: of each node, and the median over nodes
SELECT quantileOrNull(0.5)(seconds) AS pace_seconds, groupArray((node, seconds)) AS paces
FROM (
    SELECT node, dateDiff('millisecond', min(ts), max(ts)) / 1000 / (uniqExact(ts) - 1) AS seconds
    FROM node_samples
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
        AND ts >=
        (
            SELECT max(if(s.last_at < {until:DateTime64(6)}, s.last_at, s.first_at)) - toIntervalMinute(30)
            FROM node_samples_5m AS s
            WHERE s.cluster = {cluster:String} AND s.ts < {until:DateTime64(6)} AND s.first_at < {until:DateTime64(6)}
        )
    GROUP BY node
    HAVING uniqExact(ts) > 2
)
SETTINGS final = 0
