INSERT INTO nodes (cluster, ts, node, uid, created_at, kubelet_version, zone_key, pool, ready, capacity, allocatable)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC'), {node}, toString(i), toDateTime64('{begin}', 6, 'UTC') - toIntervalDay(if(i % 8 = 7, 2, 40)), 'v1.36.3',
        concat('eu-central-1:\0:eu-central-1', substring('abc', 1 + i % 3, 1)),
        multiIf(i % 18 = 0, 'gpu', i % 18 < 3, 'ingress', i % 18 < 6, 'latency', i % 18 < 10, 'batch', 'general'), i % 211 != 5,
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
    FROM (SELECT number AS i FROM numbers({nodes})) ARRAY JOIN range({events}) AS e
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
    WITH if(n = 0, 2, 0) AS reserved, if(i % 8 = 7, 4 * (i % 2), if(n = i % 2, 12, 4 * (intDiv(i, 3) % 4))) AS exclusive,
        16 - reserved - exclusive AS free
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC'), {node}, n, 16, reserved, exclusive, free, 8, intDiv(free, 2), 'cpu_manager_state', 'exact', 'kubelet',
        if(n = 0, '0-15', '16-31'), concat(toString(n * 16 + 16 - free), '-', toString(n * 16 + 15))
    FROM (SELECT number AS i FROM numbers({nodes})) ARRAY JOIN range(2) AS n
;
INSERT INTO numa_resources (cluster, ts, node, numa_node, resource, capacity, allocatable, available, cells, source)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC'), {node}, n, 'memory', 34359738368, 33285996544, 33285996544 - (i % 12) * 2147483648, [n], 'memory_manager_state'
    FROM (SELECT number AS i FROM numbers({nodes})) ARRAY JOIN range(2) AS n
;
INSERT INTO numa_pods (cluster, ts, node, namespace, pod, uid, container, cpus, cpuset, numa_nodes, aligned, source,
        fidelity)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC'), {node}, 'team-0', concat('pinned-', toString(p)), toString(p), 'main',
        4, concat(toString(i % 2 * 16 + 2 + p * 4), '-', toString(i % 2 * 16 + 5 + p * 4)), [i % 2], 1, 'cpu_manager_state', 'exact'
    FROM (SELECT number AS i FROM numbers({nodes})) ARRAY JOIN range(3) AS p WHERE i % 8 != 7
;
INSERT INTO numa_skew (cluster, ts, scope, node, skew_ratio, mean_absolute_deviation, free_cpus, largest_fit_cpus,
        stranded_cpus, exclusive_cpus, allocatable_cpus, nodes, source, fidelity, explanation, cpu_manager_policy)
    WITH arrayMap(n -> if(i % 8 = 7, 4 * (i % 2), if(n = i % 2, 12, 4 * (intDiv(i, 3) % 4))), [0, 1]) AS held,
        [14 - held[1], 16 - held[2]] AS left_over
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC') + toIntervalMinute(m), 'node', {node}, abs(held[1] / 14 - held[2] / 16), 0.1,
        arraySum(left_over), arrayMax(left_over), arrayMin(left_over), arraySum(held), 30, 1,
        'cpu_manager_state', 'exact', 'Its NUMA nodes hold exclusive CPUs unevenly.', if(i % 18 < 6, 'static', 'none')
    FROM (SELECT number AS i FROM numbers({nodes})) ARRAY JOIN range(20) AS m
;
INSERT INTO late_joiners (cluster, ts, verdict, rank_correlation, gap_ratio, nodes, oldest_nodes, oldest_created_at, oldest_ratio,
        youngest_nodes, youngest_created_at, youngest_ratio, free_cpus, largest_fit_cpus, explanation)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC'), 'late_joiners_emptier', 0.8, 0.5, {nodes}, [], toDateTime64('{begin}', 6, 'UTC') - toIntervalDay(40), 0.6,
        [], toDateTime64('{begin}', 6, 'UTC') - toIntervalDay(2), 0.1, 0, 16, 'nodes that joined last have 10 % of their exclusive CPUs in use, those that joined first 60%'
;
INSERT INTO numa_whatif (cluster, ts, scope, node, strategy, skew_ratio, mean_absolute_deviation, free_cpus, largest_fit_cpus, stranded_cpus, free_cores, spanning_pods, unplaced_pods, pods)
    SELECT '{cluster}', toDateTime64('{begin}', 6, 'UTC'), 'cluster', '', s.1, s.2, 0, 100, s.3, 20, 0, 0, 0, 40
    FROM (SELECT 1) ARRAY JOIN [('most_allocated', 1., 16), ('least_allocated', 0.08, 8), ('distribute_evenly', 0.14, 8)] AS s
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
