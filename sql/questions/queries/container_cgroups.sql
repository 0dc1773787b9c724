-- Which values the cgroups of pods, of their containers and of their sandboxes have, as the kernel shows them
-- form cgroups container
-- shows node, pod, container, cpu, cpu_quota_microseconds, memory_limit_bytes
-- needs cgroup values
-- param cluster, node
SELECT
    v.cluster AS cluster, v.node AS node, p.namespace AS namespace,
    if(p.pod = '', v.uid, p.pod) AS pod,
    v.container AS container,
    multiIf(v.cpu_weight IS NOT NULL, concat('cpu.weight ', toString(v.cpu_weight)), v.cpu_shares IS NOT NULL, concat('cpu.shares ', toString(v.cpu_shares)), '') AS cpu,
    v.cpu_quota_microseconds AS cpu_quota_microseconds, v.cpu_period_microseconds AS cpu_period_microseconds,
    v.memory_limit_bytes AS memory_limit_bytes, v.cgroup AS cgroup, v.ts AS ts
FROM cgroup_values AS v
LEFT JOIN pod_cgroups AS p ON p.cluster = v.cluster AND p.node = v.node AND p.uid = v.uid
WHERE (v.cluster, v.node, v.ts) IN (SELECT cluster, node, max(ts) FROM cgroup_values GROUP BY cluster, node)
    AND ({node:String} = '' OR v.node = {node:String}) AND ({cluster:String} = '' OR v.cluster = {cluster:String})
ORDER BY cluster, node, namespace, pod, container
