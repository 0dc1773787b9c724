-- How another strategy would have placed the same pods of the cluster
SELECT strategy, skew_ratio, largest_fit_cpus, stranded_cpus, spanning_pods, unplaced_pods, pods
FROM numa_whatif
WHERE cluster = {cluster:String} AND scope = 'cluster'
ORDER BY strategy
