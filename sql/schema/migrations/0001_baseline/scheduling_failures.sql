CREATE TABLE IF NOT EXISTS scheduling_failures
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When this text was first seen on the pod; of an event, when its text was written' CODEC(Delta, ZSTD(1)),
    namespace LowCardinality(String) COMMENT 'Namespace',
    pod String COMMENT 'Name of the pod',
    uid String COMMENT 'UID of the pod',
    nodes_total Int64 COMMENT 'Nodes that the scheduler counts: the N of 0/N nodes' CODEC(T64, LZ4),
    nodes_known Int64 COMMENT 'Nodes that had existed for over a minute then' CODEC(T64, LZ4),
    reasons Map(String, UInt32) COMMENT 'Nodes by reason; a node can have several',
    reason_sum Int64 COMMENT 'Sum over the reasons' CODEC(T64, LZ4),
    prefilter String COMMENT 'Why no node was looked at at all; empty if some were',
    post_filter LowCardinality(String) COMMENT 'What plugins say after the reasons, for example no new claims to deallocate',
    preemption String COMMENT 'Result of preemption; empty if the scheduler does not report it',
    truncated UInt8 COMMENT '1 if the text was cut: counts are lower bounds',
    pinned_node LowCardinality(String) COMMENT 'The only node that the pod may go to, or empty',
    text_source LowCardinality(String) COMMENT 'condition (every attempt rewrites it), event (a second, older witness) or log (the scheduler''s own)',
    why String COMMENT 'The reasons in words, as pending pods are explained',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, namespace, pod, uid, ts, text_source)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Why the scheduler found no node for a pod, once for each new text'
