-- Which running pods a restart of their kubelet ends (full-pcpus-only on a full node)
-- group NUMA
-- shows node, verdict, namespace, pod, cpus
-- needs numa, rooms, configz, pods or held
-- events OutOfcpu, OutOfmemory, OutOfpods, OutOfephemeral-storage, UnexpectedAdmissionError, TopologyAffinityError, SMTAlignmentError, NodeAffinity, TaintToleration, NodePorts, NodeShutdown
-- param cluster, node
SELECT cluster, node, verdict, namespace, pod, container, cpus, free_cpus
FROM restart_ends
WHERE {filters node, cluster}
ORDER BY cluster, verdict, node, namespace, pod, container
