CREATE TABLE IF NOT EXISTS node_fit_5m
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'Beginning of the five minutes' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    resource LowCardinality(String) COMMENT 'Resource: cpu, memory, ephemeral-storage, pods or another',
    last_at SimpleAggregateFunction(max, DateTime64(6, 'UTC')) COMMENT 'Last row in them',
    used_max SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Used in base units; cpu in millicores; null if it is not measured',
    free_min SimpleAggregateFunction(min, Int64) COMMENT 'Lowest: Allocatable minus requested; negative if the node is over-committed',
    capacity_last AggregateFunction(argMax, Int64, DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view fit_history): Capacity in base units; cpu in millicores',
    allocatable_last AggregateFunction(argMax, Int64, DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view fit_history): Allocatable in base units; cpu in millicores',
    requested_last AggregateFunction(argMax, Int64, DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view fit_history): Requested by pods that are not Succeeded or Failed, in base units; cpu in millicores',
    used_last AggregateFunction(argMax, Int64, DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view fit_history): Used in base units; cpu in millicores; -1 if it is not measured',
    pods_last AggregateFunction(argMax, Int64, DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view fit_history): Pods counted',
    landed_at SimpleAggregateFunction(max, DateTime) MATERIALIZED now() COMMENT 'When it was last stored; retention counts from here'
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, toStartOfHour(ts), node, resource, ts)
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1
COMMENT 'Five-minute roll-up of node_fit: only aggregates that a repeated insert does not change'
