-- Pods of some nodes that were evicted, the last first; the rejected ones are listed as storms
SELECT node, ts, time_known, namespace, pod, cause, resource, signal, threshold, available, predicted_rank, ranked_pods, tied_pods, pods_usage_ratio, evidence,
    minIf((ts, namespace, pod, toString(signal)), cause = 'pressure' AND signal != '') OVER (PARTITION BY node) AS first_under_pressure
FROM pod_evictions
WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND cause != 'admission'
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
ORDER BY ts DESC, node, namespace, pod
LIMIT 50 BY node
