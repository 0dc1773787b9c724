-- The pods of some nodes at each node's last sample, as far as the eviction order needs them
WITH
    living AS (
        SELECT
            node, namespace, pod, uid,
            argMax((change, priority, critical, eviction_memory_request_bytes, eviction_ephemeral_request_bytes, local_volumes),
                {latest_change}) AS latest
        FROM pod_bindings
        WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts < {until:DateTime64(6)}
        GROUP BY node, namespace, pod, uid
        HAVING latest.1 NOT IN ('finished', 'deleted')
    )
SELECT
    l.node AS node, l.namespace AS namespace, l.pod AS pod, l.uid AS uid, l.latest.2 AS priority,
    l.latest.3 AS critical, l.latest.4 AS memory_request_bytes, l.latest.5 AS ephemeral_request_bytes,
    p.uid != '' AS has_stats,
    coalesce(p.memory_working_set_bytes, 0) AS memory_working_set_bytes,
    p.rootfs_used_bytes AS rootfs_used_bytes, p.rootfs_inodes_used AS rootfs_inodes_used,
    p.logs_used_bytes AS logs_used_bytes, p.logs_inodes_used AS logs_inodes_used,
    p.volumes AS volumes, l.latest.6 AS local_volumes,
    coalesce(p.processes, 0) AS processes
FROM living AS l
LEFT JOIN (
    SELECT *
    FROM pod_samples
    WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)}
        AND (node, ts) IN (
            SELECT node, max(ts)
            FROM node_samples
            WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
            GROUP BY node
        )
) AS p ON p.node = l.node AND p.uid = l.uid
ORDER BY node, namespace, pod, uid
