-- How the CPUs of each NUMA node of some nodes are allocated at the end
SELECT node, numa_node, cpus, reserved_cpus, exclusive_cpus, free_cpus, cores, free_cores, cpuset, free_cpuset, core_cpusets, source, fidelity, assumed
FROM (
    SELECT *
    FROM numa_allocations
    WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts < {until:DateTime64(6)}
    ORDER BY ts DESC
    LIMIT 1 BY node, numa_node
)
WHERE cpus IS NULL OR cpus > 0
ORDER BY node, numa_node
