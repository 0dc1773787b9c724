-- Why pods found no node, over time, and how many of the nodes the scheduler counted
-- group Scheduling
-- shows since, reason, pods, most_nodes, counted, known
-- needs pods or events
-- events FailedScheduling
-- newest
-- was scheduler_node_count
-- param cluster
-- param bucket_seconds UInt32 300: length of a step in seconds
-- param namespace, since, until
SELECT
    cluster,
    toStartOfInterval(ts, toIntervalSecond({bucket_seconds:UInt32})) AS since,
    if(reason = '', prefilter, reason) AS reason,
    uniqExact(namespace, pod, uid) AS pods, max(nodes) AS most_nodes, max(nodes_total) AS counted,
    min(nodes_total) AS least_counted, max(nodes_known) AS known, min(nodes_known) AS least_known,
    countIf(NOT truncated AND prefilter = '' AND reason_sum < nodes_total) AS texts_with_too_few_reasons
FROM scheduling_failures
LEFT ARRAY JOIN mapKeys(reasons) AS reason, mapValues(reasons) AS nodes
WHERE {filters namespace, cluster, ts}
GROUP BY cluster, since, reason
ORDER BY since, cluster, pods DESC, reason
