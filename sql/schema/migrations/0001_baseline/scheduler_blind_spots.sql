CREATE TABLE IF NOT EXISTS scheduler_blind_spots
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'Time of the text that shows it; for the test placement, the start of the time in which the node gets no pods' CODEC(Delta, ZSTD(1)),
    verdict LowCardinality(String) COMMENT 'lost_node, stale_view (too few nodes), ghost_nodes (too many) or inconclusive',
    test LowCardinality(String) COMMENT 'What shows it: nodes_evaluated, nodes_total, placement, cache (its metric or its dump), log (its own lines), or text that is not understood',
    node LowCardinality(String) COMMENT 'The node that is overlooked; empty if it is unknown which',
    namespace LowCardinality(String) COMMENT 'Namespace of the pod whose text shows it, or empty',
    pod String COMMENT 'Name of the pod whose text shows it, or empty',
    evidence String COMMENT 'Why, in words and numbers',
    scheduler_version LowCardinality(String) COMMENT 'Version of the scheduler; where it is not set, that of the newest kubelet',
    what String COMMENT 'The sentence of the story',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, ts, test, namespace, pod, if(empty(pod), node, ''))
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Evidence that a scheduler works with a wrong list of nodes, with the evidence for it'
