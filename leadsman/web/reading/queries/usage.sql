-- CPU, memory and stalls of some nodes over the range, the highest of each step
SELECT node, groupArray(at) AS at, groupArray(cpu) AS cpu, groupArray(memory) AS memory,
    groupArray(cpu_stalled) AS cpu_stalled, groupArray(memory_stalled) AS memory_stalled, groupArray(io_stalled) AS io_stalled
FROM (
    SELECT
        node,
        toUnixTimestamp(toStartOfInterval(ts, toIntervalSecond({step:UInt32}))) AS at,
        toFloat64(ifNull(max(cpu_usage_nanocores), -1)) AS cpu,
        toFloat64(ifNull(max(memory_working_set_bytes), -1)) AS memory,
        ifNull(max(cpu_psi_some_avg10_percent), -1) AS cpu_stalled,
        ifNull(max(memory_psi_some_avg10_percent), -1) AS memory_stalled,
        ifNull(max(io_psi_some_avg10_percent), -1) AS io_stalled
    FROM node_samples
    WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
    GROUP BY node, at
    ORDER BY node, at
)
GROUP BY node
SETTINGS final = 0
