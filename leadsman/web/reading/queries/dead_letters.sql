-- What could not be read, by kind
SELECT error_type, count() AS times, argMin(position, (ts, position)) AS example_at, argMin(reason, (ts, position)) AS example_reason
FROM dead_letters
WHERE cluster IN ({cluster:String}, '')
GROUP BY error_type
ORDER BY times DESC, error_type
LIMIT 20
