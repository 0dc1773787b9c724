-- How many nodes the scheduler counts against how many there are, over time
-- group Scheduling
-- needs pods or events
-- param cluster String '': only this cluster; empty is all
-- param bucket_seconds UInt32 300: length of a step in seconds
SELECT
    cluster,
    toStartOfInterval(ts, toIntervalSecond({bucket_seconds:UInt32})) AS since,
    min(nodes_total) AS least_counted,
    max(nodes_total) AS most_counted,
    min(nodes_known) AS least_known,
    max(nodes_known) AS most_known,
    countIf(NOT truncated AND prefilter = '' AND reason_sum < nodes_total) AS texts_with_too_few_reasons,
    uniqExact(namespace, pod, uid) AS pods
FROM scheduling_failures
WHERE ({cluster:String} = '' OR cluster = {cluster:String})
GROUP BY cluster, since
ORDER BY since, cluster
