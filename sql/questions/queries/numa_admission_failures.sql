-- Pods that a node refused for NUMA or exclusive CPUs, and the state of its NUMA nodes at that moment
-- group NUMA
-- needs pods or events
-- events TopologyAffinityError, SMTAlignmentError
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT cluster, ts, node, namespace, pod, reason, requested_cpus, free_cpus, largest_fit_cpus, topology_manager_policy, fidelity, explanation
FROM numa_admission_failures
WHERE ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY ts, cluster, node, namespace, pod
