-- How many nodes the scheduler counts against how many there are, over time
-- group Scheduling
-- shows since, most_counted, most_known, texts_with_too_few_reasons, pods
-- needs pods or events
-- newest
-- param cluster String '': only this cluster; empty is all
-- param bucket_seconds UInt32 300: length of a step in seconds
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
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
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
GROUP BY cluster, since
ORDER BY since, cluster
