-- The last sample of each of some nodes, as far as the eviction order needs it
SELECT node, ts, nodefs_capacity_bytes, nodefs_inodes, imagefs_capacity_bytes, imagefs_inodes, containerfs_capacity_bytes, containerfs_inodes
FROM node_samples
WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
ORDER BY ts DESC
LIMIT 1 BY node
SETTINGS final = 0
