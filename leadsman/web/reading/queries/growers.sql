-- What fills the disks of some nodes at the end, where that is in the range: what grows, and what is over its limit
SELECT node, kind, namespace, pod, volume, used_bytes, bytes_per_second, limit_bytes, over_limit, seconds_to_limit, seconds_to_threshold
FROM disk_growth
WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
    AND kind != 'pod' AND (bytes_per_second * 3600 >= 1048576 OR over_limit = 1)
ORDER BY over_limit = 1 DESC, bytes_per_second DESC, node, kind, namespace, pod, volume
LIMIT 8 BY node
