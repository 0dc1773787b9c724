-- What fills each node's disk, in pods or outside them, how fast, and when a threshold is met
-- group Nodes
-- shows node, kind, pod, used_bytes, bytes_per_second, seconds_to_threshold
-- needs samples
-- was disk_unexplained kind=outside_pods
-- was ephemeral_storage kind=pod
-- param cluster, node
-- param namespace String '': only pods of this namespace; empty is all
-- param kind String '': only this kind, such as logs or outside_pods; pod is the sum of each pod; empty is all
SELECT
    cluster, node, kind, namespace, pod, volume, used_bytes, round(bytes_per_second) AS bytes_per_second, limit_bytes,
    over_limit, round(seconds_to_limit) AS seconds_to_limit,
    round(seconds_to_threshold) AS seconds_to_threshold,
    nodefs_used_bytes, pods_used_bytes, pods_ratio
FROM (
    SELECT
        cluster, node, kind, namespace, pod, volume, toNullable(used_bytes) AS used_bytes, bytes_per_second,
        limit_bytes, over_limit, seconds_to_limit, seconds_to_threshold, NULL AS nodefs_used_bytes,
        NULL AS pods_used_bytes, NULL AS pods_ratio
    FROM disk_growth
    WHERE kind != 'pod' OR limit_bytes IS NOT NULL OR {kind:String} = 'pod'
    UNION ALL
    SELECT
        n.cluster, n.node,
        'outside_pods',
        '',
        '',
        '',
        n.nodefs_used_bytes - p.bytes,
        NULL, NULL, NULL, NULL, NULL, n.nodefs_used_bytes, p.bytes,
        round(p.bytes / nullIf(n.nodefs_used_bytes, 0), 4)
    FROM node_samples AS n
    LEFT JOIN (
        SELECT cluster, node, ts, sum(rootfs_used_bytes + logs_used_bytes + volumes_used_bytes) AS bytes
        FROM pod_samples
        WHERE (cluster, node, ts) IN (SELECT cluster, node, last_at FROM last_samples)
        GROUP BY cluster, node, ts
    ) AS p ON p.cluster = n.cluster AND p.node = n.node AND p.ts = n.ts
    WHERE (n.cluster, n.node, n.ts) IN (SELECT cluster, node, last_at FROM last_samples) AND n.nodefs_used_bytes IS NOT NULL
)
WHERE {filters node, cluster, namespace} AND ({kind:String} = '' OR kind = {kind:String})
ORDER BY if({kind:String} = 'pod', NULL, bytes_per_second) DESC NULLS LAST, used_bytes DESC NULLS LAST, cluster, node, kind, namespace, pod, volume
