-- How much of each node's disk its pods explain, and how much lies outside them
-- group Nodes
-- needs samples
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT
    n.cluster AS cluster,
    n.node AS node,
    n.ts AS ts,
    n.nodefs_used_bytes AS nodefs_used_bytes,
    p.bytes AS pods_used_bytes,
    n.nodefs_used_bytes - p.bytes AS outside_pods_bytes,
    round(p.bytes / nullIf(n.nodefs_used_bytes, 0), 4) AS pods_ratio
FROM node_samples AS n
LEFT JOIN
(
    SELECT cluster, node, ts, sum(rootfs_used_bytes + logs_used_bytes + volumes_used_bytes) AS bytes
    FROM pod_samples
    GROUP BY cluster, node, ts
) AS p ON p.cluster = n.cluster AND p.node = n.node AND p.ts = n.ts
WHERE (n.cluster, n.node, n.ts) IN (SELECT cluster, node, max(ts) FROM node_samples GROUP BY cluster, node)
    AND ({cluster:String} = '' OR n.cluster = {cluster:String})
    AND ({node:String} = '' OR n.node = {node:String})
ORDER BY outside_pods_bytes DESC NULLS LAST, cluster, node
