-- column seconds_before: How long before the eviction the sample was taken, in seconds
-- column rank_when_evicted: Its predicted rank minus the pods of the same ranking that went before it; 1 is right
-- column was_next: 1 if the rank was right
-- column could_be_next: 1 if the rank was right except for pods that tie
CREATE OR REPLACE VIEW rank_accuracy AS
SELECT
    cluster, ts, node, namespace, pod, uid, resource, signal, predicted_at,
    dateDiff('microsecond', predicted_at, ts) / 1e6 AS seconds_before,
    ranked_pods, predicted_rank,
    predicted_rank - arrayCount(
        gone -> gone.2 < predicted_rank AND gone.1 < (ts, uid),
        groupArray(((ts, uid), predicted_rank)) OVER (PARTITION BY cluster, node, signal, predicted_at)
    ) AS rank_when_evicted,
    tied_pods,
    toUInt8(rank_when_evicted = 1) AS was_next,
    toUInt8(rank_when_evicted <= coalesce(tied_pods, 1)) AS could_be_next
FROM pod_evictions
WHERE cause = 'pressure' AND predicted_rank IS NOT NULL
COMMENT 'Each pressure eviction with its rank at the last sample before. rank_when_evicted leaves out pods of the same ranking that were evicted before it, so 1 is right (was_next). The kubelet takes pods that tie in no fixed order, so a rank within tied_pods can be right too (could_be_next)'
