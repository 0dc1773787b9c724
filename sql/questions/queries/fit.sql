-- Requests, limits and use of pods on each node, compared with its allocatable, by resource
-- group Nodes
-- shows node, resource, allocatable, requested, limits, used
-- needs requests
-- was limits limited=1
-- param cluster, node
-- param resource String '': only this resource; empty is all
-- param limited UInt8 0: 1 shows only CPU and memory of nodes with known pod limits, the most overcommitted first
SELECT
    cluster, node, resource, capacity, allocatable, requested,
    if(g.pods > 0, multiIf(resource = 'cpu', g.cpu, resource = 'memory', g.memory, NULL), NULL) AS limits,
    used, free,
    round(requested / nullIf(allocatable, 0), 3) AS requested_ratio,
    round(used / nullIf(allocatable, 0), 3) AS used_ratio,
    round(100 * limits / nullIf(allocatable, 0)) AS limits_percent,
    if(limits IS NULL, NULL, if(resource = 'cpu', g.without_cpu, g.without_memory)) AS pods_without_limit,
    f.pods AS pods
FROM node_fit_latest AS f
LEFT JOIN (
    SELECT
        cluster, node, count() AS pods,
        toNullable(toInt64(sum(coalesce(cpu_quota_microseconds, 0)) / 100)) AS cpu,
        toNullable(toInt64(sum(coalesce(memory_limit_bytes, 0)))) AS memory,
        countIf(cpu_quota_microseconds IS NULL) AS without_cpu,
        countIf(memory_limit_bytes IS NULL) AS without_memory
    FROM pod_cgroups
    GROUP BY cluster, node
) AS g USING (cluster, node)
WHERE ({resource:String} = '' OR resource = {resource:String})
    AND ({limited:UInt8} = 0 OR (limits IS NOT NULL AND allocatable > 0))
    AND {filters cluster, node}
ORDER BY if({limited:UInt8} = 1, limits_percent, 0) DESC, cluster, node, resource
