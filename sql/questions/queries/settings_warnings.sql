-- Which settings of kubelets deserve a warning or lack a threshold, on how many nodes, and what to set instead
-- group Evictions and pressure
-- shows nodes, subject, problem, advice
-- needs configz
-- was unguarded_signals rule=unguarded_signal
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param rule String '': only this rule, as unguarded_signal; empty is all
SELECT cluster, rule, subject, count() AS nodes, arraySlice(arraySort(groupArray(node)), 1, 5) AS first_nodes, problem, advice
FROM kubelet_warnings
WHERE ({rule:String} = '' OR rule = {rule:String})
    AND ({node:String} = '' OR node = {node:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
GROUP BY cluster, rule, subject, problem, advice
ORDER BY cluster, nodes DESC, rule, subject, problem
