-- Which running pods were evicted, for what, and whether any pod explains it
SELECT
    cluster,
    ts,
    node,
    namespace,
    pod,
    cause,
    resource,
    signal,
    threshold,
    available,
    predicted_rank,
    ranked_pods,
    pod_usage,
    round(pods_usage_ratio, 3) AS pods_usage_ratio,
    multiIf(pods_usage_ratio IS NULL, '', pods_usage_ratio < 0.1, 'no pod explains it: something outside pods uses this', '') AS remark,
    evidence
FROM evictions
WHERE cause != 'admission'
ORDER BY ts, cluster, node, pod
