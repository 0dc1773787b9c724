-- Pods that a kubelet refused for NUMA or CPUs
SELECT ts, node, namespace, pod, reason, requested_cpus, free_cpus, largest_fit_cpus, explanation
FROM numa_admission_failures
WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND {filters namespace, node}
ORDER BY ts DESC, node, namespace, pod
LIMIT 100
