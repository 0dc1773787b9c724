CREATE TABLE IF NOT EXISTS file_systems
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'Time of the sample' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    mount_point String COMMENT 'Path at which the node mounts it, the shortest of several',
    device LowCardinality(String) COMMENT 'Major and minor number of its device',
    kind LowCardinality(String) COMMENT 'Its type, for example ext4',
    capacity_bytes Int64 COMMENT 'Its size in bytes' CODEC(T64, LZ4),
    available_bytes Int64 COMMENT 'What others than root may still use, in bytes' CODEC(T64, LZ4),
    used_bytes Int64 COMMENT 'In use, in bytes' CODEC(T64, LZ4),
    inodes Nullable(Int64) COMMENT 'Its inodes; null if it has no limit of them' CODEC(T64, LZ4),
    inodes_free Nullable(Int64) COMMENT 'Free inodes; null if it has no limit of them' CODEC(T64, LZ4),
    images_known UInt8 COMMENT '1 if the agent saw on which devices images and writable layers lie: on others than this',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(ts)
ORDER BY (cluster, node, mount_point, ts)
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1
COMMENT 'File systems on disks of each machine that no eviction signal is about, once a minute, where the agent runs'
