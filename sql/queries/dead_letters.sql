-- What could not be read: where it lay and why
SELECT
    error_type,
    count() AS records,
    min(ts) AS first_at,
    max(ts) AS last_at,
    any(concat(source, ':', position)) AS example_at,
    any(reason) AS example_reason,
    any(substring(payload, 1, 120)) AS example_begins
FROM dead_letters
GROUP BY error_type
ORDER BY records DESC, error_type
