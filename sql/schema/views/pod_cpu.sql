-- Which pods get less CPU than they would take, over the five minutes or so before the last sample of their node.
-- rules: cpu-contention
-- column ts: The last sample of the pod
-- column used_millicores: CPU that it used, on average; null where it is not known
-- column request_millicores: Its request
-- column limit_millicores: Its limit; null where a container has none
-- column some_percent: Time in percent for which some task of the pod waited for CPU; null where it is not known
-- column neighbours_over_millicores: CPU that other pods of the node used above their requests
-- column verdict: at_limit: it uses what its limit allows; neighbours_likely: below its request and without a limit of the pod it waits while others use more than theirs, though a container of it may have a limit; over_request: it waits, and uses more than it requests; inconclusive: it waits, and a limit may hold back what is short; empty where it does not wait
-- column window_seconds: From the first sample that counts to the last
CREATE OR REPLACE VIEW pod_cpu AS
WITH
    recent AS
    (
        -- By pieces of five minutes, so that of the samples only these are read
        SELECT cluster, node, toStartOfInterval(last_at - toIntervalMinute(arrayJoin([0, 5])), toIntervalMinute(5)) AS piece
        FROM (SELECT cluster, node, max(last_at) AS last_at FROM (SELECT cluster, node, last_at FROM node_samples_5m SETTINGS final = 0) GROUP BY cluster, node)
    ),
    read AS
    (
        SELECT
            cluster, node, namespace, pod, uid, max(s.ts) AS last_at, dateDiff('millisecond', min(s.ts), max(s.ts)) / 1000 AS seconds,
            arrayMap((before, after) -> if(seconds > 0 AND after >= before, (after - before) / seconds, NULL),
                argMin([s.cpu_usage_core_nanoseconds, s.cpu_psi_some_total_nanoseconds], s.ts),
                argMax([s.cpu_usage_core_nanoseconds, s.cpu_psi_some_total_nanoseconds], s.ts)) AS rates
        FROM pod_samples AS s
        WHERE (s.cluster, s.node, toStartOfInterval(s.ts, toIntervalMinute(5))) IN (SELECT cluster, node, piece FROM recent)
        GROUP BY cluster, node, namespace, pod, uid
    ),
    used AS
    (
        SELECT
            r.cluster AS cluster, r.last_at AS last_at, r.node AS node, r.namespace AS namespace, r.pod AS pod, r.uid AS uid,
            r.seconds AS seconds, g.qos_class AS qos_class, g.cpu_request_millicores AS request,
            g.cpu_quota_microseconds / 100 AS limit_cpu, r.rates[1] / 1000000 AS used_cpu,
            if(r.rates[2] IS NULL, NULL, least(100, r.rates[2] / 10000000)) AS waits,
            greatest(0, coalesce(used_cpu, 0) - request) AS over
        FROM read AS r
        INNER JOIN pod_cgroups AS g ON g.cluster = r.cluster AND g.node = r.node AND g.uid = r.uid
    )
SELECT
    cluster,
    last_at AS ts,
    node,
    namespace,
    pod,
    uid,
    qos_class,
    used_cpu AS used_millicores,
    request AS request_millicores,
    limit_cpu AS limit_millicores,
    waits AS some_percent,
    sum(over) OVER (PARTITION BY cluster, node) - over AS neighbours_over_millicores,
    multiIf(
        coalesce(used_cpu >= 0.95 * limit_cpu, false), 'at_limit',
        coalesce(waits, 0) < 5, '',
        limit_cpu IS NOT NULL OR used_cpu IS NULL, 'inconclusive',
        used_cpu > request, 'over_request',
        neighbours_over_millicores > 0, 'neighbours_likely',
        'inconclusive') AS verdict,
    seconds AS window_seconds
FROM used
COMMENT 'Which pods wait for CPU now, and whether their own limit, their own use or their neighbours hold them back'
