-- Which pods hold which CPUs on which NUMA nodes, and whether memory, devices and caches are on the same
-- group NUMA
-- shows node, pod, cpuset, numa_nodes, aligned, explanation
-- needs pods or held
-- was numa_alignment
-- param cluster, node
-- param spanning UInt8 0: 1 shows only pods that span several NUMA nodes
SELECT
    cluster, node, namespace, pod, container, p.cpus AS cpus, p.cpuset AS cpuset,
    if(p.cpuset = '', a.cpu_numa_nodes, p.numa_nodes) AS numa_nodes,
    coalesce(a.aligned, p.aligned) AS aligned, a.distance AS distance, a.memory_numa_nodes AS memory_numa_nodes,
    a.hugepages_numa_nodes AS hugepages_numa_nodes, a.device_numa_nodes AS device_numa_nodes, a.devices AS devices,
    a.l3_caches AS l3_caches, m.far_bytes AS far_bytes, p.source AS source, p.fidelity AS fidelity,
    greatest(a.ts, p.ts) AS ts, a.explanation AS explanation
FROM (
    SELECT * FROM (SELECT * FROM numa_pods ORDER BY ts DESC LIMIT 1 BY cluster, node, namespace, pod, uid, container) WHERE cpus > 0
) AS p
FULL OUTER JOIN (
    SELECT * FROM (SELECT * FROM numa_alignment ORDER BY ts DESC LIMIT 1 BY cluster, node, namespace, pod, container) WHERE explanation != 'gone'
) AS a USING (cluster, node, namespace, pod, container)
LEFT JOIN numa_remote_memory AS m USING (cluster, node, namespace, pod)
WHERE ({spanning:UInt8} = 0 OR length(numa_nodes) > 1)
    AND {filters cluster, node}
ORDER BY aligned ASC NULLS LAST, cluster, node, namespace, pod, container, p.uid, p.ts, a.ts
