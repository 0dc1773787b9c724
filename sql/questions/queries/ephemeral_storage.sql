-- Which pods use most local storage now
-- group Pods
-- shows node, namespace, pod, ephemeral_used_bytes, inodes_used
-- needs samples
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param namespace String '': only this namespace; empty is all
SELECT
    cluster,
    node,
    namespace,
    pod,
    ephemeral_used_bytes,
    rootfs_used_bytes,
    logs_used_bytes,
    volumes_used_bytes,
    inodes_used,
    ts
FROM pod_samples
WHERE (cluster, node, ts) IN (SELECT cluster, node, max(ts) FROM node_samples GROUP BY cluster, node)
    AND ({namespace:String} = '' OR namespace = {namespace:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY ephemeral_used_bytes DESC NULLS LAST, cluster, node, namespace, pod
