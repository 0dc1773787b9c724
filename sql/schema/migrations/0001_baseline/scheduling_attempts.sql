CREATE TABLE IF NOT EXISTS scheduling_attempts
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When the scheduler logged the result of the attempt' CODEC(Delta, ZSTD(1)),
    namespace LowCardinality(String) COMMENT 'Namespace of the pod',
    pod String COMMENT 'Name of the pod',
    uid String COMMENT 'UID of the pod; empty if nothing beside the log has it',
    node LowCardinality(String) COMMENT 'A node that the scheduler scored or filtered out, or to which it bound the pod; empty for the text if none fits',
    bound UInt8 COMMENT '1 if the pod was bound to this node',
    score Nullable(Int64) COMMENT 'Final score of the node; null without a line of -v=10, and if only one node fits, because none is scored then' CODEC(T64, LZ4),
    plugins Map(String, Int64) COMMENT 'Its scores by plugin, times the weight of the plugin; their sum is the final score if there is no extender',
    refused_by LowCardinality(String) COMMENT 'The plugin that filtered the node out; empty if it fits, or if its plugin logs nothing',
    evaluated_nodes Nullable(Int64) COMMENT 'Number of nodes that were checked until enough fit; null if none fits' CODEC(T64, LZ4),
    feasible_nodes Nullable(Int64) COMMENT 'Number of nodes that fit; null if none fits' CODEC(T64, LZ4),
    listed_nodes Nullable(Int64) COMMENT 'Number of nodes in the list of the scheduler, duplicates included; null if the pod was bound' CODEC(T64, LZ4),
    nodes_known Int64 COMMENT 'Number of nodes that had existed for over a minute' CODEC(T64, LZ4),
    said String COMMENT 'The words of the scheduler why no node fits, in full',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, namespace, pod, ts, node)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Attempts to place pods by the log of a scheduler: the nodes that it scored, or why none fits'
