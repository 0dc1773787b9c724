-- Which sources could not be read, were silent, or may have missed something
-- group Unknown
-- shows node, resource, times, last_at, last_error
-- param cluster, node, since, until
SELECT
    cluster, node, resource, kind, count() AS times, min(ts) AS first_at, max(ts) AS last_at,
    max(silent_seconds) AS longest_silence_seconds,
    argMax(error, (ts, error)) AS last_error
FROM source_errors
WHERE {filters cluster, node, ts}
GROUP BY cluster, node, resource, kind
ORDER BY last_at DESC, cluster, node, resource, kind
