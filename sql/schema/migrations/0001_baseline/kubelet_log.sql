CREATE TABLE IF NOT EXISTS kubelet_log
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When the kubelet wrote the line' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    said LowCardinality(String) COMMENT 'kubelet_start, threshold_met, in_grace, reclaimed, must_evict, ranked, evicted, spared, none_evicted, not_cleaned_up, image_gc, image_removed, image_gc_failed, refused, not_allocated, preempted, node_status, not_ready or event',
    resource LowCardinality(String) COMMENT 'Resource that it is about; empty if it names none',
    namespace LowCardinality(String) COMMENT 'Namespace of the pod',
    pod String COMMENT 'Name of the pod; empty if it is about none or several',
    uid String COMMENT 'UID of the pod; namespace/name if neither the log nor its dump has the UID',
    pods Array(String) COMMENT 'Pods as namespace/name in the order in which the kubelet would evict them',
    image String COMMENT 'ID of the image that was removed',
    amount_bytes Nullable(Int64) COMMENT 'Bytes that image GC wants to free, or the size of the removed image' CODEC(T64, LZ4),
    message String COMMENT 'Error or message in the line, or of the Event that reports the same',
    time_known UInt8 DEFAULT 1 COMMENT '0 if neither the log nor its dump has the year and the zone; ts is a bound then',
    earliest Nullable(DateTime64(6, 'UTC')) COMMENT 'Not before then, if the time is not known' CODEC(Delta, ZSTD(1)),
    latest Nullable(DateTime64(6, 'UTC')) COMMENT 'Not after then, if the time is not known' CODEC(Delta, ZSTD(1)),
    what String COMMENT 'The line in words; empty for what other tables have',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, ts, said, pod, image)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Lines of the kubelets'' logs about evictions, image GC and admission'
