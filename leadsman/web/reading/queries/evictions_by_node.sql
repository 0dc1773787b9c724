-- How many pods each node evicted or rejected; an eviction tells only of a rejection for the node's pressure
SELECT
    node,
    countIf(cause = 'pressure') AS pressure,
    countIf(cause = 'limit') AS own_limit,
    uniqExactIf((namespace, pod, uid), cause = 'admission') AS admission,
    countIf(cause = 'unknown') AS unknown,
    countIf(cause = 'pressure' AND predicted_rank IS NULL) AS without_rank
FROM (
    SELECT cluster, ts, node, namespace, pod, uid, toString(cause) AS cause, predicted_rank FROM pod_evictions
    UNION ALL
    SELECT cluster, ts, node, namespace, pod, uid, toString(cause) AS cause, NULL AS predicted_rank FROM pod_ends WHERE pod_ends.cause = 'admission'
)
WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND {filters namespace, node}
GROUP BY node
ORDER BY node
