CREATE TABLE IF NOT EXISTS scheduled_objects
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    resource LowCardinality(String) COMMENT 'What it is, by the plural under which the API has it, for example persistentvolumeclaims or namespaces',
    namespace LowCardinality(String) COMMENT 'Namespace; empty if it has none',
    name String COMMENT 'Its name',
    uid String COMMENT 'Its UID',
    deleted UInt8 COMMENT '1 if it was deleted',
    facts String COMMENT 'What the scheduler uses of it, as JSON' CODEC(ZSTD(1)),
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, resource, namespace, name, uid, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Claims of volumes, volumes and what else the scheduler uses beside nodes and pods, as each change was seen; scheduled_now has those that are there'
