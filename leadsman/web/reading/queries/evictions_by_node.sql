-- How many pods each node evicted or rejected
SELECT
    node,
    countIf(cause = 'pressure') AS pressure,
    countIf(cause = 'limit') AS own_limit,
    countIf(cause = 'admission') AS admission,
    countIf(cause = 'unknown') AS unknown,
    countIf(cause = 'pressure' AND predicted_rank IS NULL) AS without_rank
FROM pod_evictions
WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND {asked namespace, node}
GROUP BY node
ORDER BY node
