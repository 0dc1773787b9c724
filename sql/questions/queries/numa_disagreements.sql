-- Where two sources report different numbers of exclusive CPUs, and which is believed
-- group NUMA
-- shows ts, node, numa_node, value_a, value_b, explanation
-- needs numa, compared or metrics
-- newest
-- param cluster, node, since, until
SELECT cluster, ts, node, if(numa_node < 0, NULL, numa_node) AS numa_node, source_a, value_a, source_b, value_b, explanation
FROM numa_disagreements
WHERE {filters cluster, node, ts}
ORDER BY ts, cluster, node, numa_node
