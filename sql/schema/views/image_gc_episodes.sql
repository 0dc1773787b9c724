-- column ts: First occurrence of the episode
-- column last_at: Last occurrence of the episode
CREATE OR REPLACE VIEW image_gc_episodes AS
SELECT * EXCEPT (covered_until)
FROM
(
    SELECT
        *,
        max(last_at) OVER (PARTITION BY cluster, node, reason ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_until
    FROM image_gc FINAL
)
WHERE covered_until < ts
COMMENT 'Episodes of image garbage collection that did not do its work, and recoveries, each once. An episode that began within a longer one of the same reason is left out: only a part of it was read then'
