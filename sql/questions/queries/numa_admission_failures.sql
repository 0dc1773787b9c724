-- Pods that a node refused for NUMA or exclusive CPUs, and the state of its NUMA nodes at that moment
-- group NUMA
-- shows ts, node, pod, requested_cpus, explanation
-- needs pods or events
-- events TopologyAffinityError, SMTAlignmentError
-- newest
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
SELECT cluster, ts, node, namespace, pod, reason, requested_cpus, free_cpus, largest_fit_cpus, topology_manager_policy, fidelity, explanation
FROM numa_admission_failures
WHERE ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
ORDER BY ts, cluster, node, namespace, pod
