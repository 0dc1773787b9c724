-- Each eviction signal of each node at its last sample
SELECT
    node, signal, argMaxMerge(available_last) AS available, argMaxMerge(capacity_last) AS capacity,
    nullIf(argMaxMerge(hard_threshold_last), -1) AS hard,
    nullIf(argMaxMerge(soft_threshold_last), -1) AS soft,
    argMaxMerge(seconds_to_hard_last) AS seconds_to_hard,
    argMaxMerge(seconds_to_soft_last) AS seconds_to_soft,
    argMaxMerge(seconds_to_hard_earliest_last) AS hard_earliest,
    argMaxMerge(seconds_to_hard_latest_last) AS hard_latest,
    argMaxMerge(seconds_to_soft_earliest_last) AS soft_earliest,
    argMaxMerge(seconds_to_soft_latest_last) AS soft_latest,
    argMaxMerge(acts_first_last) AS acts_first, argMaxMerge(gc_first_last) AS gc_first,
    argMaxMerge(thresholds_assumed_last) AS assumed
FROM eviction_signals_5m
WHERE cluster = {cluster:String} AND ts >= {first:DateTime64(6)} AND ts < {until:DateTime64(6)} AND last_at < {until:DateTime64(6)} AND {filters node}
GROUP BY node, signal
SETTINGS final = 0
