CREATE TABLE IF NOT EXISTS resizes
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was first seen to be so' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    namespace LowCardinality(String) COMMENT 'Namespace',
    pod String COMMENT 'Name of the pod',
    uid String COMMENT 'UID of the pod',
    state LowCardinality(String) COMMENT 'deferred: the node has no room now; infeasible: this node never does it; pending for another reason; in_progress; done, withdrawn, or gone with its pod',
    message String COMMENT 'What the kubelet reports; empty if it ended',
    wanted Map(String, Int64) COMMENT 'What the pod would request, in base units, cpu in millicores',
    running Map(String, Int64) COMMENT 'What it runs with, the larger of allocated and actual, in base units, cpu in millicores',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, uid, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Resizes of pods in place that wait or cannot be, and how each ended'
