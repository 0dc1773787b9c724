-- Which pods a kubelet rejected and why, where the API shows enough free, and the free CPUs of its NUMA nodes
-- group Pods
-- shows ts, node, pod, explanation
-- needs pods or events
-- events OutOfcpu, OutOfmemory, OutOfpods, OutOfephemeral-storage, UnexpectedAdmissionError, TopologyAffinityError, SMTAlignmentError, NodeAffinity, TaintToleration, NodePorts, NodeShutdown
-- newest
-- was numa_admission_failures numa=1
-- param cluster, node, namespace
-- param numa UInt8 0: 1 shows only pods that were refused for NUMA or exclusive CPUs
-- param since, until
SELECT ts, time_known, cluster, node, namespace, pod, owner, reason, refused_by, resource, requested, available, api_allocatable, api_free, is_contradicted,
    n.requested_cpus AS requested_cpus, n.free_cpus AS free_cpus, n.largest_fit_cpus AS largest_fit_cpus,
    n.topology_manager_policy AS topology_manager_policy, n.fidelity AS fidelity, if(n.explanation = '', r.explanation, n.explanation) AS explanation, message
FROM refused_pods AS r
LEFT JOIN (
    SELECT cluster, node, namespace, pod, uid, toNullable(requested_cpus) AS requested_cpus, free_cpus, largest_fit_cpus, topology_manager_policy, fidelity, explanation
    FROM numa_admission_failures
) AS n USING (cluster, node, namespace, pod, uid)
WHERE ({numa:UInt8} = 0 OR requested_cpus IS NOT NULL)
    AND {filters node, namespace, cluster, ts}
ORDER BY ts, cluster, node, namespace, pod
