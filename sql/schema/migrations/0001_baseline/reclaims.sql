CREATE TABLE IF NOT EXISTS reclaims
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When the kubelet first tried, by the Event EvictionThresholdMet' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    resource LowCardinality(String) COMMENT 'memory, ephemeral-storage, inodes or pids',
    last_at DateTime64(6, 'UTC') COMMENT 'When it last tried, by the same Event' CODEC(Delta, ZSTD(1)),
    times Int64 COMMENT 'How often the Event counts it',
    outcome LowCardinality(String) COMMENT 'evicted, no_eviction_seen (the shortage ended without one), or unknown',
    evicted Int64 COMMENT 'Pods evicted for the resource meanwhile',
    signal LowCardinality(String) COMMENT 'The eviction signal whose threshold samples show to be met; empty if none does',
    threshold Nullable(Int64) COMMENT 'Its threshold, in bytes, inodes or processes',
    available_low Nullable(Int64) COMMENT 'The least that samples show available',
    available_after Nullable(Int64) COMMENT 'What was available at the first sample that meets no threshold any more',
    images_removed Nullable(Int64) COMMENT 'Images that the kubelet deleted meanwhile, by its metrics; null if unknown',
    logged UInt8 COMMENT '1 if the log of the kubelet says that no pod had to be evicted',
    time_known UInt8 COMMENT '0 if ts and last_at are bounds',
    version Int64 COMMENT 'How many facts the row rests on: of two rows, that of more holds',
    what String COMMENT 'The sentence of the story',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, resource, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Attempts of kubelets to reclaim a resource before they evict, with the amount that came back'
