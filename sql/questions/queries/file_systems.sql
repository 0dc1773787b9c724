-- Which file systems of a node no eviction signal watches, and which of them are nearly full
-- form unguarded_signals file_system
-- shows node, mount_point, available_bytes, capacity_bytes, available_percent, warning
-- needs file systems
-- param cluster, node
SELECT
    cluster, node, mount_point, device, kind, available_bytes, capacity_bytes,
    round(100 * available_bytes / capacity_bytes, 1) AS available_percent, used_bytes, inodes_free, inodes, images_known, warning, ts
FROM unguarded_file_systems
WHERE {filters node, cluster}
ORDER BY available_percent, cluster, node, mount_point
