-- Which settings of kubelets deserve a warning, on how many nodes, and what to set instead
-- group Evictions and pressure
-- shows nodes, subject, problem, advice
-- needs configz
-- param cluster, node
SELECT cluster, rule, subject, count() AS nodes, arraySlice(arraySort(groupArray(node)), 1, 5) AS first_nodes, problem, advice
FROM kubelet_warnings
WHERE {filters node, cluster}
GROUP BY cluster, rule, subject, problem, advice
ORDER BY cluster, nodes DESC, rule, subject, problem
