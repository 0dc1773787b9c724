-- For which reasons pods found no node, over time
-- group Scheduling
-- shows since, reason, pods, most_nodes
-- needs pods or events
-- events FailedScheduling
-- newest
-- param cluster String '': only this cluster; empty is all
-- param bucket_seconds UInt32 300: length of a step in seconds
-- param namespace String '': only this namespace; empty is all
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
SELECT
    cluster,
    toStartOfInterval(ts, toIntervalSecond({bucket_seconds:UInt32})) AS since,
    reason,
    uniqExact(namespace, pod, uid) AS pods,
    max(nodes) AS most_nodes
FROM scheduling_failures
ARRAY JOIN mapKeys(reasons) AS reason, mapValues(reasons) AS nodes
WHERE ({namespace:String} = '' OR namespace = {namespace:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
GROUP BY cluster, since, reason
ORDER BY since, cluster, pods DESC, reason
