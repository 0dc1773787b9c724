-- Which exclusive CPUs each container of some nodes holds at the end
SELECT node, namespace, pod, container, cpus, cpuset, numa_nodes, aligned, source, fidelity
FROM (
    SELECT *
    FROM numa_pods
    WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts < {until:DateTime64(6)}
    ORDER BY ts DESC
    LIMIT 1 BY node, namespace, pod, uid, container
)
WHERE cpus > 0
ORDER BY node, arraySort(numa_nodes), cpuset, namespace, pod, container
