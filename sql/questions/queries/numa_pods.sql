-- Which pods hold which CPUs, on which NUMA nodes, and which of them span several
-- group NUMA
-- shows node, namespace, pod, cpuset, numa_nodes, aligned
-- needs numa
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param spanning UInt8 0: 1 for only those that span several NUMA nodes
SELECT cluster, node, namespace, pod, container, cpus, cpuset, numa_nodes, aligned, source, fidelity, ts
FROM
(
    SELECT *
    FROM numa_pods
    ORDER BY ts DESC
    LIMIT 1 BY cluster, node, namespace, pod, uid, container
)
WHERE cpus > 0 AND ({spanning:UInt8} = 0 OR length(numa_nodes) > 1)
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY cluster, node, namespace, pod, container
