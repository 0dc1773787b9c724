-- Whether nodes that joined later are emptier, at the end
SELECT verdict, gap_ratio, oldest_nodes, oldest_ratio, youngest_nodes, youngest_created_at, youngest_ratio, free_cpus, largest_fit_cpus, explanation
FROM late_joiners
WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
ORDER BY ts DESC
LIMIT 1
