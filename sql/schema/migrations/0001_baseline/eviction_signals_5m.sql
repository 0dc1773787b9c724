CREATE TABLE IF NOT EXISTS eviction_signals_5m
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'Beginning of the five minutes' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    signal LowCardinality(String) COMMENT 'Eviction signal, for example memory.available',
    last_at SimpleAggregateFunction(max, DateTime64(6, 'UTC')) COMMENT 'Last sample in them',
    available_min SimpleAggregateFunction(min, Int64) COMMENT 'Lowest: Available: bytes, inodes or process ids',
    capacity SimpleAggregateFunction(max, Int64) COMMENT 'Highest: Capacity, in the unit of available',
    hard_threshold SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Effective hard threshold, in the unit of available; null if there is none',
    soft_threshold SimpleAggregateFunction(max, Nullable(Int64)) COMMENT 'Highest: Effective soft threshold, in the unit of available; null if there is none',
    hard_met SimpleAggregateFunction(max, UInt8) COMMENT '1 if available was below the hard threshold at any sample',
    soft_met SimpleAggregateFunction(max, UInt8) COMMENT '1 if available was below the soft threshold at any sample',
    available_last AggregateFunction(argMax, Int64, DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view signal_history): Available: bytes, inodes or process ids',
    capacity_last AggregateFunction(argMax, Int64, DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view signal_history): Capacity, in the unit of available',
    hard_threshold_last AggregateFunction(argMax, Int64, DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view signal_history): Effective hard threshold, in the unit of available; -1 if there is none',
    soft_threshold_last AggregateFunction(argMax, Int64, DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view signal_history): Effective soft threshold, in the unit of available; -1 if there is none',
    slope_per_second_last AggregateFunction(argMax, Float64, DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view signal_history): Change of available a second; NaN if the samples do not support one',
    seconds_to_soft_last AggregateFunction(argMax, Float64, DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view signal_history): Seconds until the soft threshold is met; NaN when it does not approach',
    seconds_to_hard_last AggregateFunction(argMax, Float64, DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view signal_history): Seconds until the hard threshold is met; NaN when it does not approach',
    gc_first_last AggregateFunction(argMax, UInt8, DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view signal_history): 1 if image GC acts before this threshold',
    thresholds_assumed_last AggregateFunction(argMax, UInt8, DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view signal_history): 1 if no /configz was seen and the defaults of that kubelet are used',
    landed_at SimpleAggregateFunction(max, DateTime) MATERIALIZED now() COMMENT 'When it was last stored; retention counts from here',
    seconds_to_soft_earliest_last AggregateFunction(argMax, Float64, DateTime64(6, 'UTC')) DEFAULT initializeAggregation('argMaxState', nan, toDateTime64(0, 6, 'UTC')) COMMENT 'Last (a state: read it in the view signal_history): Earliest seconds until the soft threshold is met: before in one of ten cases; NaN if there is none',
    seconds_to_soft_latest_last AggregateFunction(argMax, Float64, DateTime64(6, 'UTC')) DEFAULT initializeAggregation('argMaxState', nan, toDateTime64(0, 6, 'UTC')) COMMENT 'Last (a state: read it in the view signal_history): Latest seconds until the soft threshold is met: later in one of ten cases; NaN if there is none',
    seconds_to_hard_earliest_last AggregateFunction(argMax, Float64, DateTime64(6, 'UTC')) DEFAULT initializeAggregation('argMaxState', nan, toDateTime64(0, 6, 'UTC')) COMMENT 'Last (a state: read it in the view signal_history): Earliest seconds until the hard threshold is met: before in one of ten cases; NaN if there is none',
    seconds_to_hard_latest_last AggregateFunction(argMax, Float64, DateTime64(6, 'UTC')) DEFAULT initializeAggregation('argMaxState', nan, toDateTime64(0, 6, 'UTC')) COMMENT 'Last (a state: read it in the view signal_history): Latest seconds until the hard threshold is met: later in one of ten cases; NaN if there is none',
    acts_first_last AggregateFunction(argMax, LowCardinality(String), DateTime64(6, 'UTC')) COMMENT 'Last (a state: read it in the view signal_history): What acts first if the trend continues: hard, soft, image_gc or another signal of the resource; the other times hold only if it does not help; empty if nothing approaches'
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, toStartOfHour(ts), node, signal, ts)
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1
COMMENT 'Five-minute roll-up of eviction_signals: only aggregates that a repeated insert does not change'
