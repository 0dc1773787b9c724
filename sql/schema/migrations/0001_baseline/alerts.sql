CREATE TABLE IF NOT EXISTS alerts
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it fired; of a resolved one, when it was resolved' CODEC(Delta, ZSTD(1)),
    fingerprint String COMMENT 'Its identity: a hash of all its labels',
    alertname LowCardinality(String) COMMENT 'Name of the alert',
    severity LowCardinality(String) COMMENT 'critical, warning or info',
    status LowCardinality(String) COMMENT 'firing or resolved: an alert that fired and was resolved has a row of each',
    starts_at DateTime64(6, 'UTC') COMMENT 'When it fired' CODEC(Delta, ZSTD(1)),
    ends_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When it was resolved; null if the row says that it fires' CODEC(Delta, ZSTD(1)),
    labels Map(String, String) COMMENT 'What it is about; never a measured value',
    annotations Map(String, String) COMMENT 'summary, description and runbook_url',
    node LowCardinality(String) COMMENT 'Name of the node; empty if it is about the cluster',
    updated_at DateTime64(6, 'UTC') COMMENT 'When its words last changed; the version of this row' CODEC(Delta, ZSTD(1)),
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here',
    reason LowCardinality(String) COMMENT 'Why it was resolved: unknown (no data for an hour, so it may still hold); deleted (the node is gone); cordoned (the node is cordoned, and the alert is quiet meanwhile); empty (it is over)'
)
ENGINE = ReplacingMergeTree(updated_at)
PARTITION BY toYYYYMM(starts_at)
ORDER BY (cluster, alertname, node, fingerprint, starts_at, status)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Alerts over the findings: a row when one fired, and a row when it was resolved'
