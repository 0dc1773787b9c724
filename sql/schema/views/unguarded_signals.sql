-- Signals that no eviction threshold guards, nor another signal of the same file system, at the last sample of a node;
-- sql/schema/views.py completes it.
-- column ts: The last sample
-- column signal: A signal whose threshold can be set
-- column available: What is left: bytes, inodes or process ids
-- column capacity: Capacity, in the unit of available
-- column reason: Why it has no threshold
-- column consequence: What happens once it runs out
CREATE OR REPLACE VIEW unguarded_signals AS
WITH
    latest AS (
        SELECT cluster, node, signal, last_at, available, capacity, hard_threshold, soft_threshold, thresholds_assumed,
            {signal_resource} AS resource,
            groupArrayIf((capacity, available), hard_threshold IS NOT NULL OR soft_threshold IS NOT NULL)
                OVER (PARTITION BY cluster, node, resource) AS guarded
        FROM signal_history
        WHERE (cluster, node, signal, ts) IN (SELECT cluster, node, signal, toStartOfInterval(last_at, toIntervalMinute(5)) FROM last_signals)
    )
SELECT
    s.cluster AS cluster, s.last_at AS ts, s.node AS node, s.signal AS signal, s.available AS available,
    s.capacity AS capacity, {without_threshold} AS reason, {unguarded_consequence} AS consequence
FROM latest AS s
WHERE s.hard_threshold IS NULL AND s.soft_threshold IS NULL
    AND has({settable_signals}, s.signal)
    AND NOT arrayExists(x -> {is_near}, s.guarded)
COMMENT 'Eviction signals that nothing guards, by the settings in force, before they run out'
