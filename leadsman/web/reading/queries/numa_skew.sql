-- How unevenly exclusive CPUs are spread on each node, and on the cluster (node is empty), at the end
SELECT
    node, skew_ratio, free_cpus, largest_fit_cpus, stranded_cpus, exclusive_cpus, allocatable_cpus, spanning_pods,
    source, fidelity, assumed, explanation, cpu_manager_policy, topology_manager_policy
FROM numa_skew
WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND {filters node}
ORDER BY ts DESC, fidelity != 'none' DESC
LIMIT 1 BY node
