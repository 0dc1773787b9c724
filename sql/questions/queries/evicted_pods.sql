-- Which running pods were evicted, for which resource, and whether a pod explains it
-- group Evictions and pressure
-- shows ts, node, pod, cause, resource, remark
-- needs pods or events
-- events Evicted
-- newest
-- was rank_accuracy ranked=1
-- param cluster, node, namespace, since, until
-- param ranked UInt8 0: 1 shows only pods with a predicted rank
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
    threshold_kind,
    available,
    predicted_rank,
    ranked_pods,
    pod_usage,
    round(pods_usage_ratio, 3) AS pods_usage_ratio,
    remark,
    evidence,
    time_known,
    earliest,
    latest,
    a.rank_when_evicted AS rank_when_evicted,
    a.tied_pods AS tied_pods,
    a.was_next AS was_next,
    a.could_be_next AS could_be_next,
    a.seconds_before AS seconds_before
FROM pod_evictions
LEFT JOIN (
    SELECT cluster, node, uid, ts, toNullable(rank_when_evicted) AS rank_when_evicted, tied_pods, was_next, could_be_next, toNullable(seconds_before) AS seconds_before
    FROM rank_accuracy
) AS a USING (cluster, node, uid, ts)
WHERE ({ranked:UInt8} = 0 OR a.rank_when_evicted IS NOT NULL) AND cause != 'admission' AND ({namespace:String} = '' OR namespace = {namespace:String})
    AND {filters cluster, node, ts}
ORDER BY ts, cluster, node, pod
