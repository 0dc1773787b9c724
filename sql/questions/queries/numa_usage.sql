-- How much memory and CPU time of each NUMA node is in use
-- group NUMA
-- shows node, numa_node, memory_total_bytes, memory_free_bytes, cpu_busy_ratio
-- needs numa use
-- param cluster, node
SELECT
    cluster, node, numa_node, memory_total_bytes, memory_free_bytes, hugepages_total_bytes, hugepages_free_bytes,
    round(cpu_busy_ratio, 3) AS cpu_busy_ratio, ts
FROM numa_usage FINAL
WHERE {filters node, cluster}
ORDER BY ts DESC
LIMIT 1 BY cluster, node, numa_node
