-- Why pods were evicted or rejected, and how many
-- group Evictions and pressure
-- needs pods or events
SELECT
    cluster,
    node,
    cause,
    resource,
    signal,
    count() AS pods,
    min(ts) AS first_at,
    max(ts) AS last_at,
    countIf(evidence = 'status') AS without_an_event
FROM pod_evictions
GROUP BY cluster, node, cause, resource, signal
ORDER BY pods DESC, cluster, node, cause, resource, signal
