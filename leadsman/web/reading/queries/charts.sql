-- Eviction signals of some nodes over the range, the lowest of each step; no threshold is -1
SELECT node, signal, groupArray(at) AS at, groupArray(lowest) AS lowest, groupArray(hard) AS hard, groupArray(soft) AS soft
FROM (
    SELECT
        node, signal,
        toUnixTimestamp(toStartOfInterval(ts, toIntervalSecond({step:UInt32}))) AS at,
        min(available) AS lowest,
        max(ifNull(hard_threshold, -1)) AS hard,
        max(ifNull(soft_threshold, -1)) AS soft
    FROM eviction_signals
    WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
    GROUP BY node, signal, at
    ORDER BY node, signal, at
)
GROUP BY node, signal
SETTINGS final = 0
