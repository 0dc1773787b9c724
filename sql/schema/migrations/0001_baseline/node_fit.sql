CREATE TABLE IF NOT EXISTS node_fit
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    resource LowCardinality(String) COMMENT 'Resource: cpu, memory, ephemeral-storage, pods or another',
    capacity Int64 COMMENT 'Capacity in base units; cpu in millicores' CODEC(T64, LZ4),
    allocatable Int64 COMMENT 'Allocatable in base units; cpu in millicores' CODEC(T64, LZ4),
    requested Int64 COMMENT 'Requested by pods that are not Succeeded or Failed, in base units; cpu in millicores' CODEC(T64, LZ4),
    used Nullable(Int64) COMMENT 'Used in base units; cpu in millicores; null if it is not measured' CODEC(T64, LZ4),
    free Int64 COMMENT 'Allocatable minus requested; negative if the node is over-committed' CODEC(T64, LZ4),
    pods Int64 COMMENT 'Pods counted' CODEC(T64, LZ4),
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(ts)
ORDER BY (cluster, node, resource, ts)
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1
COMMENT 'Capacity, requests and use of each resource of a node, counted like kubectl describe node'
