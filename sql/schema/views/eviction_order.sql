-- The eviction order for every signal of each node's latest sample (rules: eviction-order); agrees with
-- streams/rules/eviction/order.py.
-- column uid: UID of the pod
-- column ts: The last sample of the node
-- column signal: Eviction signal, for example memory.available
-- column rank: Place in the order; 1 is evicted first
-- column exceeds_request: 1 if usage exceeds the request, which goes before all that do not
-- column usage: What the ranking compares, in bytes, inodes or processes; null for a pod without stats, which goes first, except for PIDs, where priority decides first
-- column request: The request that usage is compared with, in the unit of usage; 0 for inodes and processes
-- column layout: How the file systems are shared: single, separate_imagefs or split
CREATE OR REPLACE VIEW eviction_order AS
WITH
    (one_bytes, one_inodes, other_bytes, other_inodes) ->
        coalesce(one_bytes, 0) = 0
        OR coalesce(other_bytes, 0) = 0
        OR (one_bytes = other_bytes AND (coalesce(one_inodes, 0) = 0 OR coalesce(other_inodes, 0) = 0 OR one_inodes = other_inodes))
        AS may_be_same,
    sampled AS
    (
        SELECT
            s.cluster AS cluster,
            s.node AS node,
            s.ts AS ts,
            multiIf(
                may_be_same(s.imagefs_capacity_bytes, s.imagefs_inodes, s.nodefs_capacity_bytes, s.nodefs_inodes), 'single',
                may_be_same(s.containerfs_capacity_bytes, s.containerfs_inodes, s.imagefs_capacity_bytes, s.imagefs_inodes), 'separate_imagefs',
                'split') AS layout,
            arrayFilter((signal, observed) -> observed,
                [
                    'memory.available', 'allocatableMemory.available',
                    'nodefs.available', 'nodefs.inodesFree',
                    'imagefs.available', 'imagefs.inodesFree',
                    'containerfs.available', 'containerfs.inodesFree',
                    'pid.available'
                ],
                [
                    s.memory_available_bytes IS NOT NULL AND s.memory_working_set_bytes IS NOT NULL,
                    s.pods_memory_available_bytes IS NOT NULL AND s.pods_memory_working_set_bytes IS NOT NULL,
                    s.nodefs_available_bytes IS NOT NULL AND s.nodefs_capacity_bytes IS NOT NULL,
                    s.nodefs_inodes_free IS NOT NULL AND s.nodefs_inodes IS NOT NULL,
                    s.imagefs_available_bytes IS NOT NULL AND s.imagefs_capacity_bytes IS NOT NULL,
                    s.imagefs_inodes_free IS NOT NULL AND s.imagefs_inodes IS NOT NULL,
                    s.containerfs_available_bytes IS NOT NULL AND s.containerfs_capacity_bytes IS NOT NULL,
                    s.containerfs_inodes_free IS NOT NULL AND s.containerfs_inodes IS NOT NULL,
                    s.pids_max > 0 AND s.pids_current IS NOT NULL
                ]) AS signals
        FROM node_samples AS s FINAL
        WHERE (s.cluster, s.node, s.ts) IN (SELECT cluster, node, last_at FROM last_samples)
    ),
    versions AS
    (
        SELECT
            n.cluster AS cluster,
            n.node AS node,
            argMax(toUInt32OrNull(extract(n.kubelet_version, '^v?1\\.([0-9]{1,4})')), n.ts) AS minor
        FROM nodes AS n FINAL
        GROUP BY n.cluster, n.node
    ),
    living AS
    (
        SELECT
            b.cluster AS cluster,
            b.namespace AS namespace,
            b.pod AS pod,
            b.uid AS uid,
            min(b.ts) AS known_at,
            argMax((b.node, b.priority, b.critical, b.eviction_memory_request_bytes, b.eviction_ephemeral_request_bytes, b.local_volumes),
                (b.ts, indexOf(['pending', 'bound', 'updated', 'finished', 'deleted'], b.change))) AS latest,
            argMax(b.change, (b.ts, indexOf(['pending', 'bound', 'updated', 'finished', 'deleted'], b.change))) AS last_change
        FROM pod_bindings AS b FINAL
        GROUP BY b.cluster, b.namespace, b.pod, b.uid
        HAVING last_change NOT IN ('finished', 'deleted')
    ),
    measured AS
    (
        SELECT
            s.cluster AS cluster,
            s.node AS node,
            s.ts AS ts,
            s.layout AS layout,
            arrayJoin(s.signals) AS signal,
            l.namespace AS namespace,
            l.pod AS pod,
            l.uid AS uid,
            l.latest.2 AS priority,
            l.latest.4 AS memory_request,
            l.latest.5 AS ephemeral_request,
            p.uid != '' AS has_stats,
            coalesce(p.memory_working_set_bytes, 0) AS working_set,
            coalesce(p.processes, 0) AS processes,
            endsWith(signal, 'inodesFree') AS is_inodes,
            if(is_inodes, p.rootfs_inodes_used, p.rootfs_used_bytes) AS rootfs,
            arrayFilter(volume -> has(l.latest.6, splitByChar(':', volume)[1]), splitByChar(',', p.volumes)) AS local_volumes,
            arraySum(arrayMap(volume -> toInt64OrZero(splitByChar(':', volume)[if(is_inodes, 3, 2)]), local_volumes)) AS volumes,
            if(is_inodes, p.logs_inodes_used, p.logs_used_bytes) + volumes AS logs_and_volumes,
            multiIf(
                signal IN ('memory.available', 'allocatableMemory.available'), working_set,
                signal = 'pid.available', processes,
                s.layout = 'split' AND startsWith(signal, 'imagefs.'), 0,
                s.layout = 'separate_imagefs' AND startsWith(signal, 'nodefs.'), logs_and_volumes,
                s.layout = 'separate_imagefs', rootfs,
                rootfs + logs_and_volumes) AS used,
            multiIf(
                signal IN ('memory.available', 'allocatableMemory.available'), memory_request,
                signal = 'pid.available' OR is_inodes, 0,
                ephemeral_request) AS request,
            if(is_inodes, ephemeral_request, request) AS discount,
            signal = 'pid.available' AS is_pid,
            v.minor IS NULL OR v.minor >= 20 AS counts_processes
        FROM sampled AS s
        INNER JOIN living AS l ON l.cluster = s.cluster AND l.latest.1 = s.node
        LEFT JOIN
        (
            SELECT *
            FROM pod_samples FINAL
            WHERE (cluster, node, ts) IN (SELECT cluster, node, last_at FROM last_samples)
        ) AS p ON p.cluster = s.cluster AND p.node = s.node AND p.ts = s.ts AND p.uid = l.uid
        LEFT JOIN versions AS v ON v.cluster = s.cluster AND v.node = s.node
        WHERE l.known_at <= s.ts AND NOT l.latest.3
    )
SELECT
    cluster,
    node,
    ts,
    signal,
    row_number() OVER (
        PARTITION BY cluster, node, signal
        ORDER BY
            multiIf(NOT is_pid, toInt64(has_stats), priority),
            multiIf(NOT is_pid, toInt64(has_stats AND used <= request), counts_processes, toInt64(has_stats), 0),
            multiIf(NOT is_pid, priority, 0),
            multiIf(NOT has_stats, 0, NOT is_pid, discount - used, counts_processes, -used, 0),
            namespace, pod, uid
    ) AS rank,
    namespace,
    pod,
    uid,
    toUInt8(has_stats AND NOT is_pid AND used > request) AS exceeds_request,
    priority,
    if(has_stats, used, NULL) AS usage,
    request,
    layout
FROM measured
COMMENT 'Eviction order of the pods of each node for each signal, from its latest sample; rank 1 is evicted first. usage is null for a pod without stats, which is evicted before all others'
