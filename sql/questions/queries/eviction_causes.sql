-- Why pods were evicted or rejected, and how many
-- form evicted_pods cause
-- shows node, cause, resource, pods, last_at
-- needs pods or events
-- events Evicted
-- param cluster, node, since, until
SELECT
    cluster, node, cause, resource, signal, count() AS pods, min(ts) AS first_at, max(ts) AS last_at,
    countIf(evidence = 'status') AS without_an_event
FROM pod_evictions
WHERE {filters cluster, node, ts}
GROUP BY cluster, node, cause, resource, signal
ORDER BY pods DESC, cluster, node, cause, resource, signal
