-- Where two sources report different numbers of exclusive CPUs, and which is believed
-- group NUMA
-- needs numa
SELECT cluster, ts, node, numa_node, source_a, value_a, source_b, value_b, explanation
FROM numa_disagreements
ORDER BY ts, cluster, node, numa_node
