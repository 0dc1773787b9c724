-- The most memory, huge pages or devices that one NUMA node has left, and what is stranded beside it
-- group NUMA
-- shows node, resource, free, largest, stranded
-- needs numa resources
-- param cluster, node
-- param resource String '': only this resource, such as memory or hugepages-2Mi; empty is all
SELECT
    cluster, node, resource,
    if(countIf(available IS NULL) > 0, NULL, sum(available)) AS free,
    -- What lies in a group is for containers that span it
    if(countIf(available IS NULL) > 0, NULL, maxIf(available, length(cells) <= 1)) AS largest,
    free - largest AS stranded,
    toUInt32(count()) AS numa_nodes,
    toUInt32(countIf(length(cells) > 1)) AS in_groups,
    min(ts) AS ts
FROM (
    SELECT *
    FROM numa_resources
    ORDER BY available IS NOT NULL DESC, ts DESC
    LIMIT 1 BY cluster, node, numa_node, resource
)
WHERE allocatable > 0 AND {filters node, cluster} AND ({resource:String} = '' OR resource = {resource:String})
GROUP BY cluster, node, resource
ORDER BY cluster, node, resource
