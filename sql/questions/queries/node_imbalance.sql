-- Which nodes are far fuller or emptier than the others, and why
-- group Scheduling
-- shows node, resource, requested_ratio, mean_ratio, cause, evidence
-- needs nodes, pods
-- param cluster, node
SELECT cluster, node, resource, round(requested_ratio, 3) AS requested_ratio, round(mean_ratio, 3) AS mean_ratio, cause, since, evidence
FROM node_imbalance
WHERE cause != '' AND ({node:String} = '' OR node = {node:String})
    AND {filters cluster}
ORDER BY cluster, resource, abs(requested_ratio - mean_ratio) DESC, node
