-- Input that could not be read: its position and the reason
-- group Unknown
-- shows error_type, records, example_at, example_reason
SELECT
    error_type, count() AS records, min(ts) AS first_at, max(ts) AS last_at,
    argMin(position, (ts, position)) AS example_at,
    argMin(reason, (ts, position)) AS example_reason,
    argMin(substring(payload, 1, 120), (ts, position)) AS example_begins
FROM dead_letters
GROUP BY error_type
ORDER BY records DESC, error_type
