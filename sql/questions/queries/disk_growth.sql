-- What fills the disks: by pod and kind, how fast, and when a limit or the node's threshold is met
-- group Nodes
-- needs samples
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT
    cluster, node, kind, namespace, pod, volume, used_bytes, round(bytes_per_second) AS bytes_per_second, limit_bytes, over_limit,
    round(seconds_to_limit) AS seconds_to_limit, round(seconds_to_threshold) AS seconds_to_threshold
FROM disk_growth
WHERE ({node:String} = '' OR node = {node:String}) AND (kind != 'pod' OR limit_bytes IS NOT NULL)
    AND ({cluster:String} = '' OR cluster = {cluster:String})
ORDER BY bytes_per_second DESC NULLS LAST, used_bytes DESC, cluster, node, kind, namespace, pod, volume
