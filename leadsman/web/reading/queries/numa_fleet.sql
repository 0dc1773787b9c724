-- How the CPUs and the memory of every NUMA node of the cluster are allocated at the end, and when its node joined
SELECT
    a.node AS node, a.numa_node AS numa_node, a.latest.1 AS cpus, a.latest.2 AS reserved, a.latest.3 AS exclusive,
    a.latest.4 AS free, m.latest.1 AS memory_allocatable, m.latest.2 AS memory_available, n.created_at AS created_at
FROM (
    SELECT node, numa_node, argMax(tuple(cpus, reserved_cpus, exclusive_cpus, free_cpus), ts) AS latest
    FROM numa_allocations
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
    GROUP BY node, numa_node
) AS a
LEFT JOIN (
    SELECT node, numa_node, argMax(tuple(toNullable(allocatable), available), (available IS NOT NULL, ts)) AS latest
    FROM numa_resources
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND resource = 'memory' AND length(cells) <= 1
    GROUP BY node, numa_node
) AS m ON m.node = a.node AND m.numa_node = a.numa_node
LEFT JOIN (
    SELECT node, argMax(created_at, ts) AS created_at
    FROM nodes
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
    GROUP BY node
) AS n ON n.node = a.node
WHERE cpus IS NULL OR cpus > 0
ORDER BY node, numa_node
SETTINGS final = 0, join_use_nulls = 1
