-- Which alerts can fire at all. `make generate` writes what each needs from streams/alerting/alerts.
-- column alertname: Name of the alert
-- column input: What it needs: samples, configz, thresholds of every signal, nodes, numa, requests, pods or events, or one of two of these; empty if it needs nothing
-- column required: 1 if it cannot fire without it
-- column nodes: Number of known nodes
-- column nodes_without: Number of nodes without this input
-- column can_fire: 0 if no node has what it needs
-- column first_nodes_without: The first ten nodes without it
-- column without_it: Effect where this input is missing; empty if no node lacks it
CREATE OR REPLACE VIEW alert_coverage AS
WITH
    inputs AS (
        -- Which keys there are does not need merged rows
        SELECT cluster, node, arrayJoin(['samples', 'events or samples']) AS input
        FROM (SELECT DISTINCT cluster, node FROM node_samples_5m SETTINGS final = 0)
        UNION ALL
        SELECT DISTINCT cluster, node, 'configz' AS input FROM (SELECT cluster, node FROM kubelet_settings SETTINGS final = 0)
        UNION ALL
        SELECT DISTINCT cluster, node, 'thresholds' AS input
        FROM (SELECT cluster, node FROM eviction_signals_5m SETTINGS final = 0)
        WHERE (cluster, node) NOT IN (SELECT cluster, node FROM unguarded_signals)
        UNION ALL
        SELECT DISTINCT cluster, node, 'nodes' AS input FROM (SELECT cluster, node FROM nodes SETTINGS final = 0)
        UNION ALL
        SELECT DISTINCT cluster, node, 'numa' AS input FROM numa_skew WHERE scope = 'node' AND fidelity != 'none'
        UNION ALL
        SELECT DISTINCT cluster, node, 'requests' AS input FROM (SELECT cluster, node FROM node_fit_5m SETTINGS final = 0)
    ),
    -- Of a whole cluster
    everywhere AS (
        SELECT cluster, arrayJoin(['pods', 'pods or events']) AS input, 1 AS seen FROM (SELECT DISTINCT cluster FROM pod_bindings SETTINGS final = 0)
        UNION DISTINCT
        SELECT cluster, arrayJoin(['events', 'events or samples', 'pods or events']) AS input, 1 AS seen FROM (SELECT DISTINCT cluster FROM node_events SETTINGS final = 0)
        UNION DISTINCT
        SELECT DISTINCT cluster, arrayJoin(['events', 'events or samples', 'pods or events']) AS input, 1 AS seen FROM watches WHERE resource = 'events'
    ),
    known AS (
        SELECT cluster, node, groupUniqArray(input) AS seen FROM inputs WHERE node != '' GROUP BY cluster, node
    ),
    needs AS (
        SELECT n.1 AS alertname, n.2 AS input, n.3 AS required, n.4 AS without_it
        FROM (
            SELECT arrayJoin([
                ('EvictionThresholdNear', 'samples', 1, 'no signal is known: it cannot fire'),
                ('EvictionThresholdNear', 'configz', 0, 'the thresholds are assumed to be the defaults of that kubelet'),
                ('EvictionThresholdNear', 'thresholds', 0, 'a signal has no threshold: it fires only when little is left'),
                ('EvictionTooLate', 'samples', 1, 'the pace at which memory falls is unknown: it cannot fire'),
                ('EvictionTooLate', 'configz', 0, 'the threshold is assumed to be the default of that kubelet'),
                ('NodeStalls', 'samples', 1, 'only statistics with PSI (1.34 and later) show it: it cannot fire'),
                ('SwapThrashing', 'samples', 1, 'only statistics show swap and page faults: it cannot fire'),
                ('PodsEvicted', 'pods or events', 1, 'there is no witness: it cannot fire'),
                ('PodsEvicted', 'pods', 0, 'an eviction whose event is lost is not seen'),
                ('PodsEvicted', 'events', 0, 'threshold and cause of an eviction can be missing'),
                ('PodsRejected', 'pods or events', 1, 'there is no witness: it cannot fire'),
                ('PodsRejected', 'pods', 0, 'the creator of the pods is unknown'),
                ('TopologyAdmissionRunaway', 'pods', 1, 'the creator of the pods is unknown: it cannot fire'),
                ('ContainersOOMKilled', 'pods', 1, 'only the status of containers shows it: it cannot fire'),
                ('NodePressureLasting', 'nodes', 1, 'no condition is known: it cannot fire'),
                ('PressureOscillation', 'nodes', 1, 'no condition is known: it cannot fire'),
                ('ImageGCInvalidCapacity', 'events', 1, 'only events show it: it cannot fire'),
                ('ImageGCInsufficientFreed', 'events or samples', 1, 'neither a failure nor usage is seen: it cannot fire'),
                ('ImageGCInsufficientFreed', 'events', 0, 'it fires late: only 16 min above the threshold show it'),
                ('ImageGCInsufficientFreed', 'configz', 0, 'thresholds of 85 and 80 percent are assumed, and usage alone shows nothing'),
                ('ImageGCRestartLoop', 'events', 1, 'only events show it: it cannot fire'),
                ('ContainerGCFailed', 'events', 1, 'only events show it: it cannot fire'),
                ('NUMASkewHigh', 'numa', 1, 'no source reports its NUMA nodes: it cannot fire'),
                ('NUMAFragmented', 'numa', 1, 'no source reports its NUMA nodes: it cannot fire'),
                ('NUMAMisaligned', 'numa', 1, 'the NUMA nodes of CPUs, memory and devices are unknown: it cannot fire'),
                ('RestartEndsPods', 'numa', 1, 'the containers that hold CPUs are unknown: it cannot fire'),
                ('RestartEndsPods', 'configz', 1, 'the options of its CPU Manager are unknown: it cannot fire'),
                ('SchedulerBlindSpot', 'nodes', 1, 'there is nothing to compare with: it cannot fire'),
                ('SchedulerBlindSpot', 'pods', 1, 'no scheduling failure is known: it cannot fire'),
                ('NodeOvercommitted', 'requests', 1, 'no request is known: it cannot fire'),
                ('NodeOvercommitted', 'samples', 0, 'use is not measured: only requests count'),
                ('NodeNotReady', 'nodes', 1, 'no condition is known: it cannot fire'),
                ('StreamStalled', '', 0, ''),
                ('RetentionNear', '', 0, ''),
                ('DeadLetters', '', 0, '')
            ]) AS n
        )
    )
SELECT
    k.cluster AS cluster, r.alertname AS alertname, r.input AS input, toUInt8(r.required) AS required,
    count() AS nodes,
    countIf(r.input != '' AND NOT has(k.seen, r.input) AND NOT e.seen) AS nodes_without,
    toUInt8(NOT required OR nodes_without < nodes) AS can_fire,
    arraySlice(arraySort(groupArrayIf(k.node, r.input != '' AND NOT has(k.seen, r.input) AND NOT e.seen)), 1, 10) AS first_nodes_without,
    if(nodes_without = 0, '', r.without_it) AS without_it
FROM known AS k
CROSS JOIN needs AS r
LEFT JOIN everywhere AS e ON e.cluster = k.cluster AND e.input = r.input
GROUP BY k.cluster, r.alertname, r.input, r.required, r.without_it
COMMENT 'Alerts that can fire in each cluster: the inputs of each alert, the number of nodes without them, whether it can fire at all, and the consequence'
