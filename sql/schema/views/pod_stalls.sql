-- Which pods stand still for memory or I/O, over the five minutes or so before the last sample of their node.
-- column ts: The last sample of the pod
-- column memory_some_percent: Time in percent for which some task of the pod waited for memory; null if it is unknown
-- column memory_full_percent: Time in percent for which all tasks of the pod waited for memory; null if it is unknown
-- column io_some_percent: Time in percent for which some task of the pod waited for I/O; null if it is unknown
-- column io_full_percent: Time in percent for which all tasks of the pod waited for I/O; null if it is unknown
-- column swap_usage_bytes: Swap in use, in bytes; null if it is unknown
-- column major_faults_per_second: Pages a second that were read from disk, from swap too; null if it is unknown
-- column window_seconds: From the first sample that counts to the last
CREATE OR REPLACE VIEW pod_stalls AS
WITH
    recent AS (
        -- By pieces of five minutes, so that of the samples only these are read
        SELECT cluster, node, toStartOfInterval(last_at - toIntervalMinute(arrayJoin([0, 5])), toIntervalMinute(5)) AS piece
        FROM (SELECT cluster, node, last_at FROM last_samples)
    ),
    read AS (
        SELECT
            cluster, node, namespace, pod, uid, max(s.ts) AS last_at, dateDiff('millisecond', min(s.ts), max(s.ts)) / 1000 AS seconds,
            argMax(tuple(s.swap_usage_bytes), s.ts).1 AS swap,
            arrayMap((before, after) -> if(seconds > 0 AND after >= before, (after - before) / seconds, NULL),
                argMin([s.memory_psi_some_total_nanoseconds, s.memory_psi_full_total_nanoseconds, s.io_psi_some_total_nanoseconds, s.io_psi_full_total_nanoseconds, s.memory_major_page_faults], s.ts),
                argMax([s.memory_psi_some_total_nanoseconds, s.memory_psi_full_total_nanoseconds, s.io_psi_some_total_nanoseconds, s.io_psi_full_total_nanoseconds, s.memory_major_page_faults], s.ts)) AS rates
        FROM pod_samples AS s
        WHERE (s.cluster, s.node, toStartOfInterval(s.ts, toIntervalMinute(5))) IN (SELECT cluster, node, piece FROM recent)
        GROUP BY cluster, node, namespace, pod, uid
    )
SELECT
    cluster, last_at AS ts, node, namespace, pod, uid,
    if(rates[1] <= 2000000000, least(100, rates[1] / 10000000), NULL) AS memory_some_percent,
    if(rates[2] <= 2000000000, least(100, rates[2] / 10000000), NULL) AS memory_full_percent,
    if(rates[3] <= 2000000000, least(100, rates[3] / 10000000), NULL) AS io_some_percent,
    if(rates[4] <= 2000000000, least(100, rates[4] / 10000000), NULL) AS io_full_percent,
    swap AS swap_usage_bytes, rates[5] AS major_faults_per_second, seconds AS window_seconds
FROM read
COMMENT 'Pods that stall on memory or I/O now, and how much they swap'
