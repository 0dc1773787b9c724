-- rules: exclusive-cpus, scheduler-fit, scheduler-messages; agrees with streams/rules/scheduling/fit.py. Left out:
-- node selectors, affinity, topology spread, volumes and ports of the pod; of the NUMA verdict memory and devices,
-- options of the policies, CPUs of several containers (all are taken to be one container's), and that several pending
-- pods compete.
-- column node: The node that is judged
-- column fits: 1 it fits, 0 it does not, null where the node is not known to be Ready or unknown NUMA numbers decide
-- column reasons: Why the scheduler refuses the node, in its words
-- column numa_verdict: What the kubelet would do: admitted, not_exclusive, not_pinned, TopologyAffinityError, UnexpectedAdmissionError or unknown
-- column numa_source: Source of the NUMA numbers
-- column numa_fidelity: exact, count or none
CREATE OR REPLACE VIEW pending_fit AS
WITH
    waiting AS
    (
        SELECT cluster, namespace, pod, uid, change, requests, exclusive_cpus, owner_kind, tolerations
        FROM pod_bindings FINAL
        ORDER BY ts DESC
        LIMIT 1 BY cluster, namespace, pod, uid
    ),
    machines AS
    (
        SELECT
            cluster,
            node,
            deleted,
            unschedulable,
            ready,
            arrayFilter(taint -> NOT endsWith(taint, ':PreferNoSchedule'), taints) AS repelling,
            toUInt32OrZero(extract(toString(kubelet_version), '^v?[0-9]+\\.([0-9]+)')) AS kubelet_minor
        FROM nodes FINAL
        ORDER BY ts DESC
        LIMIT 1 BY cluster, node
    ),
    room AS
    (
        SELECT cluster, node, mapFromArrays(groupArray(toString(resource)), groupArray(free)) AS free
        FROM node_fit_latest
        GROUP BY cluster, node
    ),
    settings AS
    (
        SELECT cluster, node, cpu_manager_policy, topology_manager_policy
        FROM kubelet_settings FINAL
        ORDER BY ts DESC
        LIMIT 1 BY cluster, node
    ),
    skews AS
    (
        SELECT cluster, node, free_cpus, largest_fit_cpus, cpu_manager_policy, topology_manager_policy, source, fidelity
        FROM numa_skew FINAL
        WHERE scope = 'node'
        ORDER BY ts DESC
        LIMIT 1 BY cluster, node
    ),
    numa_nodes AS
    (
        SELECT cluster, node, max(cpus) AS most_cpus
        FROM
        (
            SELECT cluster, node, cpus
            FROM numa_allocations FINAL
            WHERE numa_node >= 0
            ORDER BY ts DESC
            LIMIT 1 BY cluster, node, numa_node
        )
        GROUP BY cluster, node
    ),
    pairs AS
    (
        SELECT
            w.cluster AS cluster,
            w.namespace AS namespace,
            w.pod AS pod,
            w.uid AS uid,
            m.node AS node,
            w.exclusive_cpus AS exclusive_cpus,
            w.requests AS requests,
            r.free AS free,
            arrayFilter(
                taint -> NOT arrayExists(
                    toleration -> (splitByChar(':', toleration)[2] IN ('', splitByChar(':', taint)[2]))
                        AND (position(toleration, '=') > 0
                            ? splitByChar(':', toleration)[1] = splitByChar(':', taint)[1]
                            : splitByChar(':', toleration)[1] IN ('', splitByChar('=', taint)[1])),
                    w.tolerations)
                    AND NOT (m.unschedulable AND startsWith(taint, 'node.kubernetes.io/unschedulable=')),
                m.repelling) AS taints,
            ifNull(m.ready, 0) = 1 AS is_ready,
            m.unschedulable AND w.owner_kind != 'DaemonSet' AS is_cordoned,
            max(m.kubelet_minor) OVER (PARTITION BY m.cluster) AS scheduler_minor,
            ['cpu', 'memory', 'ephemeral-storage'] AS native,
            if(k.cpu_manager_policy != '', k.cpu_manager_policy, s.cpu_manager_policy) AS cpu_policy,
            if(k.topology_manager_policy != '', k.topology_manager_policy, s.topology_manager_policy) AS topology_policy,
            s.free_cpus AS free_cpus,
            s.largest_fit_cpus AS largest_fit_cpus,
            s.source AS numa_source,
            s.fidelity AS numa_fidelity,
            a.most_cpus AS most_cpus
        FROM waiting AS w
        INNER JOIN machines AS m ON m.cluster = w.cluster
        LEFT JOIN room AS r ON r.cluster = m.cluster AND r.node = m.node
        LEFT JOIN settings AS k ON k.cluster = m.cluster AND k.node = m.node
        LEFT JOIN skews AS s ON s.cluster = m.cluster AND s.node = m.node
        LEFT JOIN numa_nodes AS a ON a.cluster = m.cluster AND a.node = m.node
        WHERE w.change = 'pending' AND NOT m.deleted
    ),
    judged AS
    (
        SELECT
            *,
            arrayConcat(
                if(is_cordoned, ['node(s) were unschedulable'], []),
                arrayDistinct(arrayMap(
                    taint -> multiIf(
                        scheduler_minor < 18, 'node(s) had taints that the pod didn\'t tolerate',
                        scheduler_minor < 24, concat('node(s) had taint {', replaceOne(splitByChar(':', taint)[1], '=', ': '), '}, that the pod didn\'t tolerate'),
                        scheduler_minor < 34, concat('node(s) had untolerated taint {', replaceOne(splitByChar(':', taint)[1], '=', ': '), '}'),
                        'node(s) had untolerated taint(s)'),
                    taints)),
                if(free['pods'] < 1, ['Too many pods'], []),
                arrayMap(
                    name -> concat('Insufficient ', name),
                    arrayFilter(
                        name -> (requests[name] > 0 OR (scheduler_minor < 28 AND has(native, name))) AND requests[name] > free[name],
                        if(
                            arrayExists(amount -> amount > 0, mapValues(requests)),
                            arrayConcat(native, arraySort(arrayFilter(name -> NOT has(native, name), mapKeys(requests)))),
                            [])))) AS reasons,
            multiIf(
                exclusive_cpus = 0, 'not_exclusive',
                cpu_policy NOT IN ('', 'static'), 'not_pinned',
                cpu_policy = '' OR topology_policy = '' OR free_cpus IS NULL, 'unknown',
                topology_policy IN ('none', 'best-effort'), if(exclusive_cpus > free_cpus, 'UnexpectedAdmissionError', 'admitted'),
                exclusive_cpus > free_cpus AND topology_policy = 'single-numa-node', 'TopologyAffinityError',
                largest_fit_cpus IS NULL, 'unknown',
                exclusive_cpus <= largest_fit_cpus, 'admitted',
                topology_policy = 'single-numa-node' OR exclusive_cpus <= most_cpus, 'TopologyAffinityError',
                'unknown') AS numa_verdict
        FROM pairs
    )
SELECT
    cluster,
    namespace,
    pod,
    uid,
    node,
    multiIf(
        notEmpty(reasons) OR endsWith(numa_verdict, 'Error'), 0,
        numa_verdict = 'unknown' OR NOT is_ready, NULL,
        1) AS fits,
    reasons,
    taints,
    numa_verdict,
    exclusive_cpus,
    free_cpus,
    largest_fit_cpus,
    topology_policy AS topology_manager_policy,
    numa_source,
    numa_fidelity
FROM judged
COMMENT 'Whether each pending pod fits each node now: reasons are the scheduler''s, numa_verdict the kubelet''s for exclusive CPUs; taints are those that it does not tolerate; fits is null where the node is not known to be Ready, or unknown NUMA numbers decide'
