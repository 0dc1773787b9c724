-- As usage, from the five-minute roll-up
SELECT node, groupArray(at) AS at, groupArray(cpu) AS cpu, groupArray(memory) AS memory,
    groupArray(cpu_stalled) AS cpu_stalled, groupArray(memory_stalled) AS memory_stalled, groupArray(io_stalled) AS io_stalled
FROM
(
    SELECT
        node,
        toUnixTimestamp(toStartOfInterval(ts, toIntervalSecond({step:UInt32}))) AS at,
        toFloat64(ifNull(max(cpu_usage_nanocores_max), -1)) AS cpu,
        toFloat64(ifNull(max(memory_working_set_bytes_max), -1)) AS memory,
        ifNull(max(cpu_psi_some_avg10_percent_max), -1) AS cpu_stalled,
        ifNull(max(memory_psi_some_avg10_percent_max), -1) AS memory_stalled,
        ifNull(max(io_psi_some_avg10_percent_max), -1) AS io_stalled
    FROM node_samples_5m
    WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)}
        AND ts >= toStartOfInterval({since:DateTime64(6)}, toIntervalMinute(5)) AND ts < {until:DateTime64(6)}
    GROUP BY node, at
    ORDER BY node, at
)
GROUP BY node
SETTINGS final = 0
