-- column ts: The last sample of the agent
-- column warning: What is wrong if it is nearly full; else empty
CREATE OR REPLACE VIEW unguarded_file_systems AS
SELECT
    s.cluster AS cluster, s.ts AS ts, s.node AS node, s.mount_point AS mount_point, s.device AS device, s.kind AS kind,
    s.capacity_bytes AS capacity_bytes, s.available_bytes AS available_bytes, s.used_bytes AS used_bytes,
    s.inodes AS inodes, s.inodes_free AS inodes_free, s.images_known AS images_known, {nearly_full} AS warning
FROM file_systems AS s
WHERE (s.cluster, s.node, s.ts) IN (
    SELECT cluster, node, max(at)
    FROM (
        SELECT cluster, node, max(ts) AS at FROM (SELECT cluster, node, ts FROM file_systems SETTINGS final = 0) GROUP BY cluster, node
        UNION ALL
        SELECT cluster, node, max(ts) AS at FROM (SELECT cluster, node, ts FROM machine_memory SETTINGS final = 0) GROUP BY cluster, node
    )
    GROUP BY cluster, node
)
COMMENT 'File systems of each node that no eviction signal is about, at the last sample of its agent'
