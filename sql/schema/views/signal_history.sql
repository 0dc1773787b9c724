-- column available: At the last sample in them: bytes, inodes or process ids
-- column capacity: At the last sample in them, in the unit of available
-- column hard_threshold: At the last sample in them, in the unit of available; null if there is none
-- column soft_threshold: At the last sample in them, in the unit of available; null if there is none
-- column slope_per_second: Change of available a second at the last sample in them; null if the samples do not support one
-- column seconds_to_soft: Seconds until the soft threshold is met, at the last sample in them; null when it does not approach
-- column seconds_to_hard: Seconds until the hard threshold is met, at the last sample in them; null when it does not approach
-- column gc_first: 1 if image GC acts before this threshold, at the last sample in them
-- column thresholds_assumed: 1 if no /configz was seen until the last sample in them and the defaults of that kubelet are used
-- column seconds_to_soft_earliest: Earliest likely seconds until the soft threshold is met, at the last sample in them; one forecast in ten is earlier
-- column seconds_to_soft_latest: Latest likely seconds until the soft threshold is met, at the last sample in them; one forecast in ten is later
-- column seconds_to_hard_earliest: Earliest likely seconds until the hard threshold is met, at the last sample in them; one forecast in ten is earlier
-- column seconds_to_hard_latest: Latest likely seconds until the hard threshold is met, at the last sample in them; one forecast in ten is later
-- column acts_first: What acts first if the trend continues, at the last sample in them
CREATE OR REPLACE VIEW signal_history AS
SELECT
    cluster, ts, node, signal, last_at, available_min,
    finalizeAggregation(available_last) AS available,
    finalizeAggregation(capacity_last) AS capacity,
    nullIf(finalizeAggregation(hard_threshold_last), -1) AS hard_threshold,
    nullIf(finalizeAggregation(soft_threshold_last), -1) AS soft_threshold,
    hard_met, soft_met,
    if(isNaN(finalizeAggregation(slope_per_second_last)), NULL, finalizeAggregation(slope_per_second_last)) AS slope_per_second,
    if(isNaN(finalizeAggregation(seconds_to_soft_last)), NULL, finalizeAggregation(seconds_to_soft_last)) AS seconds_to_soft,
    if(isNaN(finalizeAggregation(seconds_to_hard_last)), NULL, finalizeAggregation(seconds_to_hard_last)) AS seconds_to_hard,
    finalizeAggregation(gc_first_last) AS gc_first,
    finalizeAggregation(thresholds_assumed_last) AS thresholds_assumed,
    if(isNaN(finalizeAggregation(seconds_to_soft_earliest_last)), NULL, finalizeAggregation(seconds_to_soft_earliest_last)) AS seconds_to_soft_earliest,
    if(isNaN(finalizeAggregation(seconds_to_soft_latest_last)), NULL, finalizeAggregation(seconds_to_soft_latest_last)) AS seconds_to_soft_latest,
    if(isNaN(finalizeAggregation(seconds_to_hard_earliest_last)), NULL, finalizeAggregation(seconds_to_hard_earliest_last)) AS seconds_to_hard_earliest,
    if(isNaN(finalizeAggregation(seconds_to_hard_latest_last)), NULL, finalizeAggregation(seconds_to_hard_latest_last)) AS seconds_to_hard_latest,
    finalizeAggregation(acts_first_last) AS acts_first
FROM (SELECT * EXCEPT (capacity, hard_threshold, soft_threshold) FROM eviction_signals_5m FINAL)
COMMENT 'The roll-up of an eviction signal, a row for each five minutes: kept longer than its samples'
