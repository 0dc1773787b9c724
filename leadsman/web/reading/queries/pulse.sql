-- A mark of each cluster that changes whenever something was landed that a page shows
SELECT cluster, toString(cityHash64(max(last), sum(number))) AS mark
FROM (
    SELECT cluster, max(ts) AS last, count() AS number FROM nodes GROUP BY cluster
    UNION ALL SELECT cluster, max(last_at) AS last, 0 AS number FROM node_samples_5m GROUP BY cluster
    UNION ALL SELECT cluster, max(observed_at) AS last, count() AS number FROM node_events GROUP BY cluster
    UNION ALL SELECT cluster, max(ts) AS last, count() AS number FROM pod_bindings GROUP BY cluster
    UNION ALL SELECT cluster, max(ts) AS last, count() AS number FROM kubelet_log GROUP BY cluster
    UNION ALL SELECT cluster, max(updated_at) AS last, count() AS number FROM evictions GROUP BY cluster
    UNION ALL SELECT cluster, max(updated_at) AS last, count() AS number FROM pressure_changes GROUP BY cluster
    UNION ALL SELECT cluster, max(updated_at) AS last, count() AS number FROM image_gc GROUP BY cluster
    UNION ALL SELECT cluster, max(ts) AS last, count() AS number FROM numa_allocations GROUP BY cluster
    UNION ALL SELECT cluster, max(ts) AS last, count() AS number FROM scheduling_failures GROUP BY cluster
    UNION ALL SELECT cluster, max(ts) AS last, count() AS number FROM scheduler_blind_spots GROUP BY cluster
    UNION ALL SELECT cluster, max(ts) AS last, count() AS number FROM source_errors GROUP BY cluster
    UNION ALL SELECT cluster, max(ts) AS last, count() AS number FROM alerts GROUP BY cluster
)
WHERE cluster != ''
GROUP BY cluster
SETTINGS final = 0
