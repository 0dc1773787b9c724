-- CPU, memory and local storage of the pods of some nodes, minute by minute, in the seconds before each node's last sample
SELECT node, uid, groupArray(minute) AS at, groupArray(memory) AS memory, groupArray(disk) AS disk, argMax(cpu, minute) AS cpu
FROM (
    SELECT *, max(minute) OVER (PARTITION BY node) AS last_minute
    FROM (
        SELECT
            node, uid,
            toUnixTimestamp(toStartOfMinute(ts)) AS minute,
            toInt64(ifNull(max(memory_working_set_bytes), 0)) AS memory,
            toInt64(ifNull(max(ephemeral_used_bytes), 0)) AS disk,
            max(cpu_usage_nanocores) AS cpu
        FROM pod_samples
        WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
        GROUP BY node, uid, minute
    )
    ORDER BY node, uid, minute
)
WHERE minute + {seconds:UInt32} >= last_minute
GROUP BY node, uid
SETTINGS final = 0
