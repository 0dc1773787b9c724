CREATE TABLE IF NOT EXISTS watches
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'Until when everything was seen; the version of this row' CODEC(Delta, ZSTD(1)),
    resource LowCardinality(String) COMMENT 'The resource that is watched: nodes, pods, events, ...',
    since DateTime64(6, 'UTC') COMMENT 'Since when: the begin of the complete list, else the first sign of life after a break' CODEC(Delta, ZSTD(1)),
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree(ts)
PARTITION BY toYYYYMM(since)
ORDER BY (cluster, resource, since)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Spans in which a resource was watched without a break: no record of it means that nothing happened'
