-- Which pods a node did not admit for want of CPUs that lie right, and how its NUMA nodes were then
SELECT cluster, ts, node, namespace, pod, reason, requested_cpus, free_cpus, largest_fit_cpus, topology_manager_policy, fidelity, explanation
FROM numa_admission_failures
ORDER BY ts, cluster, node, namespace, pod
