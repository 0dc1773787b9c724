-- How exclusive CPUs lie on each NUMA node now, and how sure that is
-- group NUMA
-- needs numa
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT cluster, node, numa_node, cpus, reserved_cpus, exclusive_cpus, free_cpus, cores, free_cores, source, fidelity, assumed, ts
FROM numa_allocations
WHERE ({node:String} = '' OR node = {node:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
ORDER BY cluster, node, numa_node, ts DESC
LIMIT 1 BY cluster, node, numa_node
