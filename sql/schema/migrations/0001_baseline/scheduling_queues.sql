CREATE TABLE IF NOT EXISTS scheduling_queues
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed; for a dump of a log without a time, the newest time beside it' CODEC(Delta, ZSTD(1)),
    scheduler LowCardinality(String) COMMENT 'host:port of the scheduler that was asked; empty if a file shows it',
    queue LowCardinality(String) COMMENT 'active, backoff, unschedulable or gated; a dump counts gated pods as unschedulable',
    pods Int64 COMMENT 'Number of pods in it; the one that is being scheduled is in none' CODEC(T64, LZ4),
    uids Array(String) COMMENT 'UIDs of these pods if a dump names them, at most 10,000 of all queues',
    leaves_when String COMMENT 'The event or the time at which a pod is tried, by the defaults of the scheduler',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, scheduler, ts, queue)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Pods that wait in each queue of a scheduler'
