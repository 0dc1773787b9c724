-- How near each node came to any of its thresholds: the least part of a capacity that was left above one
SELECT node, min((available_min - {first_threshold}) / greatest(1, capacity)) AS room
FROM eviction_signals_5m
WHERE cluster = {cluster:String} AND ts >= toStartOfInterval({since:DateTime64(6)}, toIntervalMinute(5)) AND ts < {until:DateTime64(6)}
    AND (hard_threshold IS NOT NULL OR soft_threshold IS NOT NULL) AND {filters node}
GROUP BY node
SETTINGS final = 0
