-- column ts: First occurrence of the episode
-- column last_at: Last occurrence of the episode
CREATE OR REPLACE VIEW image_gc_episodes AS
SELECT * EXCEPT (is_over, covered_until, island, began_at, ended_at, place) REPLACE (began_at AS ts, ended_at AS last_at)
FROM (
    SELECT
        *,
        min(ts) OVER (PARTITION BY cluster, node, reason, is_over, island) AS began_at,
        max(last_at) OVER (PARTITION BY cluster, node, reason, is_over, island) AS ended_at,
        row_number() OVER (PARTITION BY cluster, node, reason, is_over, island ORDER BY occurrences DESC, last_at DESC, ts) AS place
    FROM (
        SELECT *, sum(covered_until < ts) OVER (PARTITION BY cluster, node, reason ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS island
        FROM (
            SELECT
                *,
                ts > last_at AS is_over,
                max(last_at) OVER (PARTITION BY cluster, node, reason ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_until
            FROM image_gc FINAL
        )
    )
    WHERE NOT is_over OR covered_until < ts
)
WHERE place = 1
COMMENT 'Episodes of image garbage collection that did not do its work, and recoveries, each once. Episodes of one reason that overlap are one, because parts of it were read at other times. Its words are those of the row with the most occurrences. A recovery within an episode is left out'
