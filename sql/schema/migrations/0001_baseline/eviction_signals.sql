CREATE TABLE IF NOT EXISTS eviction_signals
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    signal LowCardinality(String) COMMENT 'Eviction signal, for example memory.available',
    available Int64 COMMENT 'Available: bytes, inodes or process ids' CODEC(T64, LZ4),
    capacity Int64 COMMENT 'Capacity, in the unit of available' CODEC(T64, LZ4),
    hard_threshold Nullable(Int64) COMMENT 'Effective hard threshold, in the unit of available; null if there is none' CODEC(T64, LZ4),
    soft_threshold Nullable(Int64) COMMENT 'Effective soft threshold, in the unit of available; null if there is none' CODEC(T64, LZ4),
    soft_grace_seconds Nullable(Float64) COMMENT 'Grace period of the soft threshold in seconds',
    hard_met UInt8 COMMENT '1 if available is below the hard threshold',
    soft_met UInt8 COMMENT '1 if available is below the soft threshold',
    slope_per_second Nullable(Float64) COMMENT 'Change of available a second; null if the samples do not support one',
    seconds_to_soft Nullable(Float64) COMMENT 'Likely seconds until the soft threshold is met; null when it does not approach or nothing can be forecast',
    seconds_to_hard Nullable(Float64) COMMENT 'Likely seconds until the hard threshold is met, if nothing in acts_first acts before; null when it does not approach or nothing can be forecast',
    gc_first UInt8 COMMENT '1 if image GC acts before this threshold',
    thresholds_assumed UInt8 COMMENT '1 if no /configz was seen and the defaults of that kubelet are used, or what intended_by has',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here',
    seconds_to_soft_earliest Nullable(Float64) COMMENT 'Earliest seconds until the soft threshold is met: before in one of ten cases',
    seconds_to_soft_latest Nullable(Float64) COMMENT 'Latest seconds until the soft threshold is met: later in one of ten cases',
    seconds_to_hard_earliest Nullable(Float64) COMMENT 'Earliest seconds until the hard threshold is met: before in one of ten cases',
    seconds_to_hard_latest Nullable(Float64) COMMENT 'Latest seconds until the hard threshold is met: later in one of ten cases',
    acts_first LowCardinality(String) COMMENT 'What acts first if the trend continues: hard, soft, image_gc or another signal of the resource; the other times hold only if it does not help; empty if nothing approaches',
    minimum_reclaim Nullable(Int64) COMMENT 'Minimum reclaim: an eviction goes on until available is this much above the threshold; null if none is set' CODEC(T64, LZ4),
    soft_met_since Nullable(DateTime64(6, 'UTC')) COMMENT 'The first of the samples in a row that are below the soft threshold: an eviction is due after its grace period' CODEC(Delta, ZSTD(1)),
    intended_by LowCardinality(String) COMMENT 'ConfigMap that the thresholds are from, if the kubelet did not answer: they are what kubeadm intends. Else empty'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(ts)
ORDER BY (cluster, node, signal, ts)
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1
COMMENT 'Each eviction signal of each node at each sample, with its thresholds and a forecast'
