-- Which images nodes pull again although they had them, and whether maximum age or image GC deleted them
-- group Image GC
-- shows node, image, pulls_again, by_maximum_age, by_image_gc, image_bytes_again
-- needs events, configz, pods
-- param cluster, node, since, until
-- param again UInt32 2: pulled again at least this many times
SELECT
    cluster, node, image, count() AS pulls,
    countIf(cause IN ('maximum_age', 'image_gc', 'unknown')) AS pulls_again,
    countIf(cause = 'maximum_age') AS by_maximum_age,
    countIf(cause = 'image_gc') AS by_image_gc,
    countIf(cause = 'unknown') AS by_unknown,
    sumIf(image_bytes, cause IN ('maximum_age', 'image_gc', 'unknown')) AS image_bytes_again,
    round(sumIf(seconds, cause IN ('maximum_age', 'image_gc', 'unknown')), 3) AS seconds_again,
    min(unused_seconds) AS shortest_unused_seconds,
    argMax(tuple(image_maximum_gc_age_seconds), ts).1 AS image_maximum_gc_age_seconds,
    argMax(tuple(high_percent), ts).1 AS high_percent,
    argMax(tuple(low_percent), ts).1 AS low_percent
FROM image_pulls
WHERE {filters ts, cluster, node}
GROUP BY cluster, node, image
HAVING pulls_again >= {again:UInt32}
ORDER BY pulls_again DESC, cluster, node, image
