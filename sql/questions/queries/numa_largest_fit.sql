-- Where an exclusive pod still fits one NUMA node, and where free CPUs are stranded
-- group NUMA
-- needs numa
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param cpus UInt32 8: exclusive CPUs that the pod asks for
WITH if(s.policy != '', s.policy, n.cpu_manager_policy) AS policy
SELECT
    n.cluster AS cluster,
    n.node AS node,
    if(policy = 'none', 0, n.free_cpus) AS free_cpus,
    if(policy = 'none', 0, n.largest_fit_cpus) AS largest_fit_cpus,
    if(policy = 'none', 0, n.stranded_cpus) AS stranded_cpus,
    multiIf(
        policy = 'none', 'its CPU Manager gives no exclusive CPUs (policy none)',
        n.largest_fit_cpus IS NULL, 'not known: only the number of exclusive CPUs is',
        n.largest_fit_cpus >= {cpus:UInt32}, 'fits one NUMA node',
        n.free_cpus >= {cpus:UInt32}, 'free CPUs suffice, but no NUMA node has them',
        'too few free CPUs') AS verdict,
    n.fidelity AS fidelity
FROM
(
    SELECT *
    FROM numa_skew
    WHERE scope = 'node'
    ORDER BY ts DESC, fidelity != 'none' DESC
    LIMIT 1 BY cluster, node
) AS n
LEFT JOIN
(
    SELECT cluster, node, argMax(cpu_manager_policy, ts) AS policy
    FROM kubelet_settings
    GROUP BY cluster, node
) AS s ON s.cluster = n.cluster AND s.node = n.node
WHERE ({cluster:String} = '' OR n.cluster = {cluster:String})
    AND ({node:String} = '' OR n.node = {node:String})
ORDER BY cluster, policy = 'none', largest_fit_cpus DESC NULLS LAST, node
