-- How another strategy would have placed the same pods, and the largest pod that would still fit
-- group NUMA
-- shows node, strategy, skew_ratio, largest_fit_cpus, stranded_cpus, unplaced_pods
-- needs numa, rooms, held
-- param cluster
-- param scope String 'cluster': cluster or node
SELECT cluster, scope, node, strategy, skew_ratio, largest_fit_cpus, stranded_cpus, spanning_pods, unplaced_pods, pods, ts
FROM numa_whatif
WHERE scope = {scope:String} AND {filters cluster}
ORDER BY cluster, node, strategy
