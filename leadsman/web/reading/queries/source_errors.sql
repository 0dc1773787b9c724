-- Sources that could not be read, were silent, or may have missed something; verdicts stay partial for a day
SELECT resource, kind, count() AS times, min(ts) AS first_at, max(ts) AS last_at,
    sum(ifNull(entries, 0)) AS left_out, max(silent_seconds) AS longest_silence_seconds,
    arraySlice(arraySort(groupUniqArrayIf(node, node != '')), 1, 20) AS nodes, argMax(error, (ts, error)) AS last_error
FROM source_errors
WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} - toIntervalDay(kind = 'partial') AND ts < {until:DateTime64(6)} AND {filters node}
GROUP BY resource, kind
ORDER BY times DESC, resource, kind
LIMIT 50
