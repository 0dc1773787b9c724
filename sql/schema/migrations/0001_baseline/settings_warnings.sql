CREATE TABLE IF NOT EXISTS settings_warnings
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was first concluded or reads otherwise; or when it was seen to hold no more' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    rule LowCardinality(String) COMMENT 'nothing_reserved, nothing_left, allocatable_differs, pods_not_enforced, reservation_is_limit, reservation_failed, cgroup_driver, daemon_set_evicted_again, soft_threshold, oscillation, image_gc_late or memory_qos',
    subject LowCardinality(String) COMMENT 'Resource, signal, setting, condition or DaemonSet',
    holds UInt8 COMMENT '1 if it holds from then on, 0 if it no longer does',
    problem String COMMENT 'What is wrong, with its numbers',
    advice String COMMENT 'What to set instead',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, rule, subject, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Settings of kubelets that deserve a warning, from when to when'
