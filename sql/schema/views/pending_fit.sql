-- rules: exclusive-cpus, scheduler-fit, scheduler-messages; agrees with streams/rules/scheduling/fit.py. Left out: of the
-- NUMA verdict memory and devices, options of the policies, CPUs of several containers (all are taken to be one
-- container's), and that several pending pods compete.
-- column node: The node that is judged
-- column fits: 1 it fits, 0 it does not, null where that is not known
-- column unknowns: What would have to be known: where its volumes can be attached, how many a node has, whether their driver has room, which nodes have the devices that it claims, what namespaces a selector means, whether the scheduler heeds a resource that no node has
-- column scheduler_reasons: What the scheduler itself gave as reasons, and for how many nodes
-- column scheduled_at: When it gave them; null where it was not heard
-- column reasons: Why the scheduler refuses the node, in its words
-- column numa_verdict: What the kubelet would do: admitted, not_exclusive, not_pinned, TopologyAffinityError, UnexpectedAdmissionError or unknown
-- column numa_source: Source of the NUMA numbers
-- column numa_fidelity: exact, count or none
CREATE OR REPLACE VIEW pending_fit AS
WITH
    {meets} AS meets,
    waiting AS
    (
        SELECT cluster, namespace, pod, uid, node, change, requests, exclusive_cpus, owner_kind, tolerations, constraints
        FROM pod_bindings FINAL
        ORDER BY ts DESC
        LIMIT 1 BY cluster, namespace, pod, uid
    ),
    used AS
    (
        SELECT cluster, node, groupArrayArray(JSONExtract(constraints, 'ports', 'Array(Tuple(String, String, UInt16))')) AS ports
        FROM waiting
        WHERE change IN ('bound', 'updated') AND JSONHas(constraints, 'ports')
        GROUP BY cluster, node
    ),
    heard AS
    (
        SELECT cluster, namespace, pod, uid, max(ts) AS scheduled_at, argMax(reasons, ts) AS scheduler_reasons
        FROM scheduling_failures FINAL
        GROUP BY cluster, namespace, pod, uid
    ),
    extended AS
    (
        SELECT cluster, groupUniqArrayArray(mapKeys(allocatable)) AS names
        FROM (SELECT cluster, node, deleted, allocatable FROM nodes FINAL ORDER BY ts DESC LIMIT 1 BY cluster, node)
        WHERE NOT deleted
        GROUP BY cluster
    ),
    machines AS
    (
        SELECT
            cluster,
            node,
            deleted,
            unschedulable,
            ready,
            mapConcat(CAST(labels, 'Map(String, String)'), map(':name', toString(node))) AS labels,
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
            JSONHas(w.constraints, 'nodes') AND NOT arrayExists(
                term -> meets(m.labels, term),
                JSONExtract(w.constraints, 'nodes', 'Array(Array(Tuple(String, String, Array(String))))')) AS is_left_out,
            arrayExists(
                port -> arrayExists(
                    other -> other.2 = port.2 AND other.3 = port.3 AND (other.1 = port.1 OR '0.0.0.0' IN (other.1, port.1)),
                    u.ports),
                JSONExtract(w.constraints, 'ports', 'Array(Tuple(String, String, UInt16))')) AS lacks_ports,
            JSONExtract(w.constraints, 'gates', 'Array(String)') AS gates,
            n.reasons AS neighbour_reasons,
            v.reasons AS volume_reasons,
            d.reasons AS device_reasons,
            h.scheduled_at AS heard_at,
            h.scheduler_reasons AS scheduler_reasons,
            arrayFilter(
                name -> position(name, '/') > 0 AND w.requests[name] > 0 AND NOT has(e.names, name)
                    AND NOT mapContains(h.scheduler_reasons, concat('Insufficient ', name)),
                mapKeys(w.requests)) AS perhaps_ignored,
            arrayConcat(
                arrayMap(
                    name -> concat('where volume ', name, ' can be attached'),
                    JSONExtract(w.constraints, 'volumes', 'Array(String)')),
                arrayMap(
                    name -> concat('which nodes have the devices of claim ', name),
                    JSONExtract(w.constraints, 'claims', 'Array(String)')),
                v.unknowns,
                d.unknowns,
                n.unknowns,
                arrayMap(name -> concat('whether the scheduler heeds ', name, ', which no node has'), perhaps_ignored)) AS unknowns,
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
        LEFT JOIN used AS u ON u.cluster = m.cluster AND u.node = m.node
        LEFT JOIN extended AS e ON e.cluster = m.cluster
        LEFT JOIN heard AS h ON h.cluster = w.cluster AND h.namespace = w.namespace AND h.pod = w.pod AND h.uid = w.uid
        LEFT JOIN pending_neighbours AS n ON n.cluster = w.cluster AND n.uid = w.uid AND n.node = m.node
        LEFT JOIN pending_volumes AS v ON v.cluster = w.cluster AND v.uid = w.uid AND v.node = m.node
        LEFT JOIN pending_devices AS d ON d.cluster = w.cluster AND d.uid = w.uid AND d.node = m.node
        WHERE w.change = 'pending' AND NOT m.deleted
    ),
    judged AS
    (
        SELECT
            *,
            arrayConcat(
                if(notEmpty(gates), ['Scheduling is blocked due to non-empty scheduling gates'], []),
                if(is_cordoned, ['node(s) were unschedulable'], []),
                arrayDistinct(arrayMap(
                    taint -> multiIf(
                        scheduler_minor < 18, 'node(s) had taints that the pod didn\'t tolerate',
                        scheduler_minor < 24, concat('node(s) had taint {', replaceOne(splitByChar(':', taint)[1], '=', ': '), '}, that the pod didn\'t tolerate'),
                        scheduler_minor < 34, concat('node(s) had untolerated taint {', replaceOne(splitByChar(':', taint)[1], '=', ': '), '}'),
                        'node(s) had untolerated taint(s)'),
                    taints)),
                if(
                    is_left_out,
                    [multiIf(
                        scheduler_minor < 20, 'node(s) didn\'t match node selector',
                        scheduler_minor < 21, 'node(s) didn\'t match Pod\'s node affinity',
                        'node(s) didn\'t match Pod\'s node affinity/selector')],
                    []),
                if(lacks_ports, ['node(s) didn\'t have free ports for the requested pod ports'], []),
                if(free['pods'] < 1, ['Too many pods'], []),
                arrayMap(
                    name -> concat('Insufficient ', name),
                    arrayFilter(
                        name -> (requests[name] > 0 OR (scheduler_minor < 28 AND has(native, name))) AND requests[name] > free[name]
                            AND NOT has(perhaps_ignored, name),
                        if(
                            arrayExists(amount -> amount > 0, mapValues(requests)),
                            arrayConcat(native, arraySort(arrayFilter(name -> NOT has(native, name), mapKeys(requests)))),
                            []))),
                volume_reasons,
                device_reasons,
                neighbour_reasons) AS reasons,
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
        numa_verdict = 'unknown' OR NOT is_ready OR notEmpty(unknowns), NULL,
        1) AS fits,
    reasons,
    unknowns,
    scheduler_reasons,
    nullIf(heard_at, toDateTime64(0, 6, 'UTC')) AS scheduled_at,
    taints,
    numa_verdict,
    exclusive_cpus,
    free_cpus,
    largest_fit_cpus,
    topology_policy AS topology_manager_policy,
    numa_source,
    numa_fidelity
FROM judged
COMMENT 'Whether each pending pod fits each node now: reasons are the scheduler''s, numa_verdict the kubelet''s for exclusive CPUs; taints are those that it does not tolerate; fits is null where the node is not known to be Ready, unknown NUMA numbers decide, or unknowns has what would have to be known'
