-- sql/schema/views.py completes it.
-- column decision: disabled, invalid_capacity, below_high or free
-- column usage_percent: Disk usage of the image file system in percent; null if its capacity is 0
-- column high_percent: Usage in percent at which image GC begins
-- column low_percent: Usage in percent down to which it frees
-- column over_high: 1 if it would free now
-- column wanted_bytes: Bytes that it would free
-- column capacity_bytes: Capacity in bytes of the image file system
-- column available_bytes: Available in bytes on the image file system
-- column settings_assumed: 1 if no /configz was seen and the defaults 85 and 80 are used, or what a ConfigMap intends
CREATE OR REPLACE VIEW image_gc_state AS
WITH
    judged AS (
        SELECT
            s.cluster AS cluster, s.ts AS ts, s.node AS node,
            greatest(0, coalesce(s.imagefs_capacity_bytes, 0)) AS capacity_bytes,
            greatest(0, least(coalesce(s.imagefs_available_bytes, 0), capacity_bytes)) AS available_bytes,
            if(k.seen, k.image_gc_high_percent, {image_gc_high}) AS high_percent,
            if(k.seen, k.image_gc_low_percent, {image_gc_low}) AS low_percent,
            k.image_maximum_gc_age_seconds AS maximum_age_seconds,
            toUInt8(NOT k.seen OR k.intended_by != '') AS settings_assumed,
            if(capacity_bytes > 0, {image_gc_percent}, NULL) AS usage_percent,
            {image_gc_verdict} AS decision
        FROM (SELECT cluster, ts, node, imagefs_capacity_bytes, imagefs_available_bytes FROM node_samples FINAL) AS s
        ASOF LEFT JOIN (
            SELECT cluster, ts, node, image_gc_high_percent, image_gc_low_percent, image_maximum_gc_age_seconds, intended_by, 1 AS seen
            FROM kubelet_settings FINAL
        ) AS k ON k.cluster = s.cluster AND k.node = s.node AND s.ts >= k.ts
    )
SELECT
    cluster, ts, node, decision, usage_percent, high_percent, low_percent,
    toUInt8(decision = 'free') AS over_high,
    if(decision = 'free', greatest(0, {image_gc_wanted}), 0) AS wanted_bytes,
    capacity_bytes, available_bytes, settings_assumed
FROM judged
COMMENT 'Decision of each kubelet''s image GC at each sample: disabled, invalid_capacity, below_high or free. wanted_bytes are the bytes that it would free. settings_assumed is 1 if no /configz was seen and 85 and 80 are used, or what a ConfigMap intends'
