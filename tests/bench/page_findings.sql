INSERT INTO nodes (cluster, ts, node, uid, created_at, kubelet_version, zone_key, ready, capacity, allocatable)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC'), {node}, toString(i), toDateTime64('{begin}', 6, 'UTC'), 'v1.36.3', concat('eu:z', toString(i % 3)), i % 211 != 5,
        map('cpu', 32000, 'memory', 68719476736), map('cpu', 31000, 'memory', 64424509440)
    FROM (SELECT number AS i FROM numbers({nodes}))
;
INSERT INTO kubelet_settings (cluster, ts, node, image_gc_high_percent, image_gc_low_percent, eviction_hard)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC'), {node}, 85, 80, map('memory.available', '100Mi')
    FROM (SELECT number AS i FROM numbers({nodes})) WHERE i % 10 != 0
;
INSERT INTO pod_bindings (cluster, ts, change, node, namespace, pod, uid, qos_class, priority,
        cpu_request_millicores, memory_request_bytes, eviction_memory_request_bytes, requests, phase)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC') + toIntervalSecond(i), c, {node}, concat('team-', toString(p % 5)),
        concat('app-', toString(i), '-', toString(p)), concat('uid-', toString(i), '-', toString(p)), 'Burstable',
        p % 3 * 1000, 500, 536870912, 536870912, map('cpu', 500), 'Running'
    FROM (SELECT number AS i FROM numbers({nodes})) ARRAY JOIN range({pods}) AS p
    ARRAY JOIN ['pending', 'bound', 'updated'] AS c
;
INSERT INTO node_events (cluster, ts, observed_at, node, namespace, name, object_kind, object_name, reason, type,
        message, count, occurrences, occurrences_lower_bound, component)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC') + toIntervalSecond(e * 173 + i % 100) AS at, at, {node}, 'default', concat('e', toString(e)),
        'Node', {node}, ['Starting', 'NodeHasDiskPressure', 'Pulled', 'BackOff', 'Killing'][if(e = 0, 1, 2 + e % 4)],
        'Normal', 'Something that a component says at some length about what it did', e, 1, e % 20 = 0, 'kubelet'
    FROM (SELECT number AS i FROM numbers({nodes})) ARRAY JOIN range(500) AS e
;
INSERT INTO pressure_changes (cluster, ts, node, condition, status, lasted_seconds, evidence, updated_at)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC') + toIntervalSecond(i * 60 + k * 400) AS at, {node}, 'MemoryPressure', 1 - k % 2,
        if(k % 2 = 1, 400, NULL), 'event', at
    FROM (SELECT number * 50 AS i FROM numbers(intDiv({nodes}, 50))) ARRAY JOIN range(6) AS k
;
INSERT INTO evictions (cluster, ts, node, namespace, pod, uid, cause, resource, signal, threshold, available,
        predicted_rank, ranked_pods, tied_pods, pods_usage_ratio, evidence, message, updated_at)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC') + toIntervalSecond(i * 60 + k * 20 + 30) AS at, {node}, 'team-1', concat('gone-', toString(k)),
        concat('gone-', toString(i), '-', toString(k)), if(k < 8, 'pressure', 'admission'),
        if(k < 8, 'memory', 'MemoryPressure'), 'memory.available', 104857600, 90000000, k + 1, 30, 1, 0.8, 'both',
        'The node was low on resource: memory.', at
    FROM (SELECT number * 50 AS i FROM numbers(intDiv({nodes}, 50))) ARRAY JOIN range(48) AS k
;
INSERT INTO image_gc (cluster, ts, node, verdict, result, reason, usage_percent, high_percent, low_percent,
        wanted_bytes, freed_bytes, occurrences, last_at, explanation, updated_at)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC') + toIntervalSecond(i * 70) AS at, {node},
        ['persistent', 'insufficient_freed', 'benign_startup', 'recovered'][1 + intDiv(i, 40) % 4], 'noop',
        'invalid_capacity', 91, 85, 80, 20000000000, 0, 40, at + toIntervalHour(1),
        'The kubelet reads capacity 0 of the image file system, so image GC returns early, every five minutes.', at
    FROM (SELECT number * 40 AS i FROM numbers(intDiv({nodes}, 40)))
;
INSERT INTO numa_allocations (cluster, ts, node, numa_node, cpus, reserved_cpus, exclusive_cpus, free_cpus, cores,
        free_cores, source, fidelity, producer, cpuset, free_cpuset)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC'), {node}, n, 16, 2, 8, 6, 8, 3, 'cpu_manager_state', 'exact', 'kubelet',
        if(n = 0, '0-15', '16-31'), if(n = 0, '10-15', '26-31')
    FROM (SELECT number AS i FROM numbers({nodes})) ARRAY JOIN range(2) AS n
;
INSERT INTO numa_pods (cluster, ts, node, namespace, pod, uid, container, cpus, cpuset, numa_nodes, aligned, source,
        fidelity)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC'), {node}, 'team-0', concat('pinned-', toString(n), '-', toString(p)), toString(n * 2 + p), 'main',
        4, concat(toString(n * 16 + 2 + p * 4), '-', toString(n * 16 + 5 + p * 4)), [n], 1, 'cpu_manager_state', 'exact'
    FROM (SELECT number AS i FROM numbers({nodes})) ARRAY JOIN [0, 1] AS n ARRAY JOIN [0, 1] AS p
;
INSERT INTO numa_skew (cluster, ts, scope, node, skew_ratio, mean_absolute_deviation, free_cpus, largest_fit_cpus,
        stranded_cpus, exclusive_cpus, allocatable_cpus, nodes, source, fidelity, explanation)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC') + toIntervalMinute(m), 'node', {node}, (i % 10) / 10, 0.1, 12, 6, 6, 16, 28, 1,
        'cpu_manager_state', 'exact', 'Its NUMA nodes hold exclusive CPUs unevenly.'
    FROM (SELECT number AS i FROM numbers({nodes})) ARRAY JOIN range(20) AS m
;
INSERT INTO scheduling_failures (cluster, ts, namespace, pod, uid, nodes_total, nodes_known, reasons, reason_sum,
        text_source)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC') + toIntervalSecond(number * 80), 'team-2', concat('waiting-', toString(number % 100)),
        toString(number % 100), {nodes} - 1, {nodes}, map('Insufficient cpu', {nodes} - 1), {nodes} - 1, 'condition'
    FROM numbers(1000)
;
INSERT INTO scheduler_blind_spots (cluster, ts, verdict, test, node, namespace, pod, evidence, scheduler_version)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC') + toIntervalSecond(number * 4000), 'stale_view', 'nodes_total', '', 'team-2',
        concat('waiting-', toString(number)), 'The scheduler counts fewer nodes than there are.', 'v1.18.4'
    FROM numbers(20)
