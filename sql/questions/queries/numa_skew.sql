-- Which nodes hold exclusive CPUs most unevenly, and the cluster over its nodes
-- group NUMA
-- needs numa
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT cluster, scope, node, skew_ratio, mean_absolute_deviation, free_cpus, largest_fit_cpus, stranded_cpus, spanning_pods, fidelity, explanation, ts
FROM
(
    SELECT *
    FROM numa_skew
    ORDER BY ts DESC, fidelity != 'none' DESC
    LIMIT 1 BY cluster, scope, node
)
WHERE ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY cluster, scope, skew_ratio DESC NULLS LAST, node
