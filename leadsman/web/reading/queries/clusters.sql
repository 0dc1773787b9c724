-- Each cluster with the time that its rows span, the latest first
SELECT cluster, min(first) AS first_at, max(last) AS last_at
FROM (
    SELECT cluster, min(ts) AS first, max(ts) AS last FROM nodes GROUP BY cluster
    UNION ALL SELECT cluster, min(first_at) AS first, max(last_at) AS last FROM node_samples_5m GROUP BY cluster
    UNION ALL SELECT cluster, min(ts) AS first, max(observed_at) AS last FROM node_events GROUP BY cluster
    UNION ALL SELECT cluster, min(ts) AS first, max(ts) AS last FROM pod_bindings GROUP BY cluster
    UNION ALL SELECT cluster, min(ts) AS first, max(ts) AS last FROM kubelet_log GROUP BY cluster
    UNION ALL SELECT cluster, min(ts) AS first, max(updated_at) AS last FROM evictions GROUP BY cluster
    UNION ALL SELECT cluster, min(ts) AS first, max(updated_at) AS last FROM pod_ends GROUP BY cluster
    UNION ALL SELECT cluster, min(ts) AS first, max(ts) AS last FROM numa_allocations GROUP BY cluster
    UNION ALL SELECT cluster, min(ts) AS first, max(ts) AS last FROM numa_skew WHERE source = 'cpu_manager_state' GROUP BY cluster
    UNION ALL SELECT cluster, min(ts) AS first, max(ts) AS last FROM scheduling_failures GROUP BY cluster
    UNION ALL SELECT cluster, min(ts) AS first, max(ts) AS last FROM source_errors GROUP BY cluster
)
WHERE cluster != ''
GROUP BY cluster
ORDER BY last_at DESC, cluster
SETTINGS final = 0
