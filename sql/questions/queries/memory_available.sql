-- How memory.available of the kubelet differs from what free prints, and why
-- group Evictions and pressure
-- shows node, memory_available_bytes, free_bytes, buff_cache_bytes, free_available_bytes, why
-- needs machine use
-- param cluster, node
WITH
    seen AS (SELECT * FROM machine_memory WHERE {filters node, cluster} ORDER BY ts DESC LIMIT 1 BY cluster, node),
    near AS (
        SELECT cluster, node, argMin((s.memory_available_bytes, s.memory_usage_bytes), abs(dateDiff('millisecond', s.ts, m.ts))) AS kubelet
        FROM node_samples AS s
        INNER JOIN seen AS m USING (cluster, node)
        WHERE s.ts BETWEEN m.ts - INTERVAL 1 MINUTE AND m.ts + INTERVAL 1 MINUTE AND s.memory_available_bytes IS NOT NULL
        GROUP BY cluster, node
    )
SELECT
    m.cluster AS cluster, m.ts AS ts, m.node AS node, n.kubelet.1 AS memory_available_bytes,
    n.kubelet.2 AS usage_bytes, m.total_bytes AS total_bytes, m.free_bytes AS free_bytes,
    m.cached_bytes + m.buffers_bytes + m.reclaimable_slab_bytes AS buff_cache_bytes,
    m.available_bytes AS free_available_bytes,
    m.cached_bytes + m.buffers_bytes + m.swap_cached_bytes AS file_bytes,
    m.anonymous_bytes AS anonymous_bytes, m.inactive_file_bytes AS inactive_file_bytes,
    m.active_file_bytes AS active_file_bytes, m.reclaimable_slab_bytes AS reclaimable_slab_bytes,
    {uncounted_memory} AS uncounted_bytes, {held_back_memory} AS held_back_bytes,
    memory_available_bytes - free_bytes - inactive_file_bytes - uncounted_bytes AS changed_bytes,
    {memory_difference} AS why
FROM seen AS m
LEFT JOIN near AS n USING (cluster, node)
ORDER BY cluster, node
