-- All nodes and their current state, including deleted ones
-- group Nodes
-- shows node, deleted, ready, ready_since, unschedulable, ready_message
-- needs nodes
-- param cluster, node
SELECT
    cluster, node, ts AS seen_at, deleted, ready, ready_since, ready_message, unschedulable, kubelet_version,
    created_at,
    arraySort(arrayFilter(each -> each != '', arrayMap(each -> extract(each, '^node-role\\.kubernetes\\.io/(.+)$'), mapKeys(labels)))) AS roles,
    pool, zone_key, taints, problems, allocatable
FROM nodes
WHERE {filters cluster, node}
ORDER BY cluster, node, ts DESC
LIMIT 1 BY cluster, node
