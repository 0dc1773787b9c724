-- Whether memory, huge pages, devices and level 3 caches of containers lie beside their CPUs
-- group NUMA
-- shows node, pod, container, aligned, explanation
-- needs numa
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT
    a.cluster AS cluster,
    a.node AS node,
    a.namespace AS namespace,
    a.pod AS pod,
    a.container AS container,
    a.aligned AS aligned,
    a.distance AS distance,
    a.cpu_numa_nodes AS cpu_numa_nodes,
    a.memory_numa_nodes AS memory_numa_nodes,
    a.hugepages_numa_nodes AS hugepages_numa_nodes,
    a.device_numa_nodes AS device_numa_nodes,
    a.devices AS devices,
    a.l3_caches AS l3_caches,
    m.far_bytes AS far_bytes,
    a.explanation AS explanation
FROM
(
    SELECT *
    FROM numa_alignment FINAL
    ORDER BY ts DESC
    LIMIT 1 BY cluster, node, namespace, pod, container
) AS a
LEFT JOIN numa_remote_memory AS m ON m.cluster = a.cluster AND m.node = a.node AND m.namespace = a.namespace AND m.pod = a.pod
WHERE a.explanation != 'gone' AND ({node:String} = '' OR a.node = {node:String})
    AND ({cluster:String} = '' OR a.cluster = {cluster:String})
ORDER BY a.aligned ASC NULLS LAST, cluster, node, namespace, pod, container
