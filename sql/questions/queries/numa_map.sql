-- How exclusive CPUs are spread over NUMA nodes, and the largest exclusive pod that still fits
-- group NUMA
-- needs numa
-- shows node, numa_node, free_cpus, largest_fit_cpus, exclusive_cpus, verdict
-- was numa_largest_fit by=node
-- was numa_skew by=node
-- param cluster, node
-- param cpus UInt32 8: exclusive CPUs of the pod that the verdict is about
-- param by String '': node gives a row for each node and one for the cluster; empty is by NUMA node
WITH if(s.policy != '', s.policy, n.cpu_manager_policy) AS policy,
    concat('a pod of ', toString({cpus:UInt32}), if({cpus:UInt32} = 1, ' exclusive CPU', ' exclusive CPUs')) AS asked_pod
SELECT
    cluster, n.scope AS scope, node, a.numa_node AS numa_node, a.cpus AS cpus, a.reserved_cpus AS reserved_cpus,
    if({by:String} = '', a.exclusive_cpus, n.exclusive_cpus) AS exclusive_cpus,
    multiIf({by:String} = '', a.free_cpus, policy = 'none', 0, n.free_cpus) AS free_cpus,
    a.cores AS cores, a.free_cores AS free_cores,
    if(policy = 'none', 0, n.largest_fit_cpus) AS largest_fit_cpus,
    if(policy = 'none', 0, n.stranded_cpus) AS stranded_cpus,
    multiIf(
        n.scope != 'node', '',
        policy = 'none', 'its CPU Manager gives no exclusive CPUs (policy none)',
        n.largest_fit_cpus IS NULL, concat('not known: ', n.explanation),
        n.largest_fit_cpus >= {cpus:UInt32}, concat(asked_pod, ' fits'),
        n.free_cpus >= {cpus:UInt32}, concat(asked_pod, ' fits no NUMA node, though ', toString(n.free_cpus), if(n.free_cpus = 1, ' CPU is free', ' CPUs are free')),
        concat(asked_pod, ' needs more CPUs than are free')) AS verdict,
    n.skew_ratio AS skew_ratio,
    n.mean_absolute_deviation AS mean_absolute_deviation,
    n.spanning_pods AS spanning_pods,
    if(a.source != '', a.source, n.source) AS source,
    if(a.fidelity != '', a.fidelity, n.fidelity) AS fidelity,
    a.assumed AS assumed, n.explanation AS explanation, coalesce(a.seen_at, n.seen_at) AS ts
FROM (
    SELECT cluster, node, toNullable(numa_node) AS numa_node, cpus, reserved_cpus, exclusive_cpus, free_cpus, cores, free_cores, source, fidelity, assumed, toNullable(ts) AS seen_at
    FROM numa_allocations
    WHERE {by:String} = ''
    ORDER BY cluster, node, numa_node, ts DESC
    LIMIT 1 BY cluster, node, numa_node
) AS a
FULL OUTER JOIN (
    SELECT *, toNullable(ts) AS seen_at
    FROM numa_skew
    WHERE {by:String} = 'node' OR scope = 'node'
    ORDER BY ts DESC, fidelity != 'none' DESC
    LIMIT 1 BY cluster, scope, node
) AS n USING (cluster, node)
LEFT JOIN (
    SELECT cluster, node, argMax(cpu_manager_policy, ts) AS policy
    FROM kubelet_settings
    GROUP BY cluster, node
) AS s USING (cluster, node)
WHERE {filters cluster, node}
ORDER BY cluster, scope, if({by:String} = 'node', largest_fit_cpus, NULL) DESC NULLS LAST, if({by:String} = 'node', skew_ratio, NULL) DESC NULLS LAST, node, numa_node
