CREATE TABLE IF NOT EXISTS cpu_throttling
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'Time of the sample' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    uid String COMMENT 'UID of the pod',
    containers Array(String) COMMENT 'Its cgroups: ids of containers, empty for the cgroup of the pod; a container that had no period is not in it' CODEC(ZSTD(1)),
    periods Array(Int64) COMMENT 'Periods of each in which its CPU quota was enforced, since the cgroup was made' CODEC(ZSTD(1)),
    throttled_periods Array(Int64) COMMENT 'Periods in which the quota was used up and the cgroup had to wait' CODEC(ZSTD(1)),
    throttled_nanoseconds Array(Int64) COMMENT 'How long it had to wait, summed over CPUs, in nanoseconds' CODEC(ZSTD(1)),
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(ts)
ORDER BY (cluster, node, ts, uid)
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1
COMMENT 'How often CPU quotas held each pod back, counted by its cgroups once a minute, where the agent runs'
