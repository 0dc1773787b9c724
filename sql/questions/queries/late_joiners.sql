-- Whether nodes that joined later stay emptier of exclusive pods
-- group NUMA
-- shows verdict, gap_ratio, free_cpus, largest_fit_cpus, explanation
-- needs numa, rooms
-- param cluster
SELECT cluster, ts, verdict, rank_correlation, gap_ratio, oldest_nodes, oldest_ratio, youngest_nodes, youngest_ratio, free_cpus, largest_fit_cpus, explanation
FROM late_joiners
WHERE {filters cluster}
ORDER BY cluster, ts DESC
LIMIT 1 BY cluster
