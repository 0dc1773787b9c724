-- The eviction order for every signal of each node's latest sample; sql/schema/views.py completes it.
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
    sampled AS (
        SELECT s.cluster AS cluster, s.node AS node, s.ts AS ts, {layout} AS layout, {observed_signals} AS signals
        FROM node_samples AS s FINAL
        WHERE (s.cluster, s.node, s.ts) IN (SELECT cluster, node, last_at FROM last_samples)
    ),
    versions AS (
        SELECT
            n.cluster AS cluster, n.node AS node,
            argMax(toUInt32OrNull(extract(n.kubelet_version, '^v?1\\.([0-9]{1,4})')), n.ts) AS minor
        FROM nodes AS n FINAL
        GROUP BY n.cluster, n.node
    ),
    living AS (
        SELECT
            b.cluster AS cluster, b.namespace AS namespace, b.pod AS pod, b.uid AS uid, min(b.ts) AS known_at,
            argMax((b.node, b.priority, b.critical, b.eviction_memory_request_bytes, b.eviction_ephemeral_request_bytes, b.local_volumes, b.change),
                {latest_change}) AS latest
        FROM pod_bindings AS b FINAL
        GROUP BY b.cluster, b.namespace, b.pod, b.uid
        HAVING latest.7 NOT IN ('finished', 'deleted')
    ),
    measured AS (
        SELECT
            s.cluster AS cluster, s.node AS node, s.ts AS ts, s.layout AS layout, arrayJoin(s.signals) AS signal,
            l.namespace AS namespace, l.pod AS pod, l.uid AS uid, l.latest.2 AS priority,
            l.latest.4 AS memory_request_bytes, l.latest.5 AS ephemeral_request_bytes,
            p.uid != '' AS has_stats,
            coalesce(p.memory_working_set_bytes, 0) AS memory_working_set_bytes,
            coalesce(p.processes, 0) AS processes,
            p.rootfs_used_bytes AS rootfs_used_bytes, p.rootfs_inodes_used AS rootfs_inodes_used,
            p.logs_used_bytes AS logs_used_bytes, p.logs_inodes_used AS logs_inodes_used,
            arrayMap(
                volume -> splitByChar(':', volume),
                arrayFilter(volume -> has(l.latest.6, splitByChar(':', volume)[1]), splitByChar(',', p.volumes))) AS local_volumes,
            arraySum(arrayMap(volume -> toInt64OrZero(volume[2]), local_volumes)) AS volumes_used_bytes,
            arraySum(arrayMap(volume -> toInt64OrZero(volume[3]), local_volumes)) AS volumes_inodes_used,
            {eviction_usage} AS used, {eviction_request} AS request, {eviction_discount} AS discount,
            signal = 'pid.available' AS is_pid,
            v.minor IS NULL OR v.minor >= {processes_count_since} AS counts_processes
        FROM sampled AS s
        INNER JOIN living AS l ON l.cluster = s.cluster AND l.latest.1 = s.node
        LEFT JOIN (
            SELECT *
            FROM pod_samples FINAL
            WHERE (cluster, node, ts) IN (SELECT cluster, node, last_at FROM last_samples)
        ) AS p ON p.cluster = s.cluster AND p.node = s.node AND p.ts = s.ts AND p.uid = l.uid
        LEFT JOIN versions AS v ON v.cluster = s.cluster AND v.node = s.node
        WHERE l.known_at <= s.ts AND NOT l.latest.3
    )
SELECT
    cluster, node, ts, signal,
    row_number() OVER (
        PARTITION BY cluster, node, signal
        ORDER BY {eviction_compared}, namespace, pod, uid
    ) AS rank,
    namespace, pod, uid, toUInt8({eviction_exceeds}) AS exceeds_request, priority,
    if(has_stats, used, NULL) AS usage,
    request, layout
FROM measured
COMMENT 'Eviction order of the pods of each node for each signal, from its latest sample; rank 1 is evicted first. usage is null for a pod without stats, which is evicted before all others'
