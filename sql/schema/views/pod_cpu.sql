-- Which pods get less CPU than they would take, over the five minutes or so before the last sample of their node.
-- rules: cpu-contention
-- column ts: The last sample of the pod
-- column used_millicores: CPU that it used, on average; null if it is unknown
-- column request_millicores: Its request
-- column limit_millicores: Its limit; null if a container has none
-- column some_percent: Time in percent for which some task of the pod waited for CPU; null if it is unknown
-- column throttled_percent: Periods in percent in which the CPU quota of the pod or of a container was used up, for the cgroup of the pod with the most; null if no agent reports it
-- column neighbours_over_millicores: CPU that other pods of the node used above their requests
-- column verdict: at_limit: throttled in 5 percent of its periods or more, or, if that is unknown, it uses all that its limit allows. neighbours_likely: it waits below its request, is not throttled, and other pods use more than they request. over_request: the same, but it uses more than it requests. inconclusive: it waits, and its limit or its own threads may be why. node_full: it is unknown whether it waits, and 95 percent of the CPUs of the node are in use. Empty if it neither waits nor is throttled
-- column window_seconds: From the first sample that counts to the last
CREATE OR REPLACE VIEW pod_cpu AS
WITH
    recent AS (
        -- By pieces of five minutes, so that of the samples only these are read
        SELECT cluster, node, toStartOfInterval(last_at - toIntervalMinute(arrayJoin([0, 5])), toIntervalMinute(5)) AS piece
        FROM (SELECT cluster, node, last_at FROM last_samples)
    ),
    read AS (
        SELECT
            cluster, node, namespace, pod, uid, max(s.ts) AS last_at, dateDiff('millisecond', min(s.ts), max(s.ts)) / 1000 AS seconds,
            arrayMap((before, after) -> if(seconds > 0 AND after >= before, (after - before) / seconds, NULL),
                argMin([s.cpu_usage_core_nanoseconds, s.cpu_psi_some_total_nanoseconds], s.ts),
                argMax([s.cpu_usage_core_nanoseconds, s.cpu_psi_some_total_nanoseconds], s.ts)) AS rates
        FROM pod_samples AS s
        WHERE (s.cluster, s.node, toStartOfInterval(s.ts, toIntervalMinute(5))) IN (SELECT cluster, node, piece FROM recent)
        GROUP BY cluster, node, namespace, pod, uid
    ),
    full_nodes AS (
        SELECT cluster, node, dateDiff('millisecond', min(s.ts), max(s.ts)) AS milliseconds
        FROM node_samples AS s
        INNER JOIN (
            SELECT cluster, node, argMax(capacity['cpu'], ts) AS millicores
            FROM nodes
            GROUP BY cluster, node
        ) AS n USING (cluster, node)
        WHERE s.cpu_usage_core_nanoseconds IS NOT NULL
            AND (s.cluster, s.node, toStartOfInterval(s.ts, toIntervalMinute(5))) IN (SELECT cluster, node, piece FROM recent)
        GROUP BY cluster, node
        HAVING milliseconds > 0 AND any(n.millicores) > 0
            AND argMax(s.cpu_usage_core_nanoseconds, s.ts) - argMin(s.cpu_usage_core_nanoseconds, s.ts) >= 0.95 * any(n.millicores) * milliseconds * 1000
    ),
    throttled AS (
        -- A container that is not in a sample had no period until then. A counter that went back is not known.
        SELECT
            cluster, node, uid,
            argMin(mapFromArrays(t.containers, arrayZip(t.periods, t.throttled_periods)), t.ts) AS before,
            argMax(arrayZip(t.containers, t.periods, t.throttled_periods), t.ts) AS after,
            arrayMap(each -> (each.2 - before[each.1].1, each.3 - before[each.1].2), after) AS grown,
            if(min(t.ts) = max(t.ts) OR arrayExists(each -> each.2 < 0 OR each.1 < each.2, grown), NULL,
                arrayMax(arrayMap(each -> 100 * each.2 / greatest(each.1, 1), grown))) AS percent
        FROM cpu_throttling AS t
        WHERE (t.cluster, t.node, toStartOfInterval(t.ts, toIntervalMinute(5))) IN (SELECT cluster, node, piece FROM recent)
            AND notEmpty(t.containers)
        GROUP BY cluster, node, uid
    ),
    used AS (
        SELECT
            r.cluster AS cluster, r.last_at AS last_at, r.node AS node, r.namespace AS namespace, r.pod AS pod, r.uid AS uid,
            r.seconds AS seconds, g.qos_class AS qos_class, g.cpu_request_millicores AS request,
            1000 * g.cpu_quota_microseconds / g.cpu_period_microseconds AS limit_cpu, r.rates[1] / 1000000 AS used_cpu,
            if(r.rates[2] <= 2000000000, least(100, r.rates[2] / 10000000), NULL) AS waits,
            greatest(0, coalesce(used_cpu, 0) - request) AS over, t.percent AS throttled
        FROM read AS r
        INNER JOIN pod_cgroups AS g ON g.cluster = r.cluster AND g.node = r.node AND g.namespace = r.namespace AND g.pod = r.pod
        LEFT JOIN throttled AS t ON t.cluster = r.cluster AND t.node = r.node AND t.uid = r.uid
        -- The kubelet's UID of a static pod is a hash of its file, which the API server has nowhere as a UID
        WHERE g.uid = r.uid OR match(r.uid, '^[0-9a-f]{32}$')
    )
SELECT
    cluster, last_at AS ts, node, namespace, pod, uid, qos_class, used_cpu AS used_millicores,
    request AS request_millicores, limit_cpu AS limit_millicores, waits AS some_percent,
    throttled AS throttled_percent,
    sum(over) OVER (PARTITION BY cluster, node) - over AS neighbours_over_millicores,
    multiIf(
        coalesce(throttled >= 5, used_cpu >= 0.95 * limit_cpu, false), 'at_limit',
        waits IS NULL AND used_cpu < request AND used_cpu >= 0.25 * request AND (cluster, node) IN (SELECT cluster, node FROM full_nodes), 'node_full',
        coalesce(waits, 0) < 5, '',
        coalesce(throttled > 0, limit_cpu IS NOT NULL) OR used_cpu IS NULL, 'inconclusive',
        used_cpu > request, 'over_request',
        -- it may have CPUs of its own, which no neighbour takes
        qos_class = 'Guaranteed' AND request >= 1000, 'inconclusive',
        neighbours_over_millicores > 0, 'neighbours_likely',
        'inconclusive') AS verdict,
    seconds AS window_seconds
FROM used
COMMENT 'Pods that wait for CPU now, and whether their own limit, their own use or their neighbours hold them back'
