-- How close each node is to its next eviction, and which pod goes first, the closest first
-- group Evictions and pressure
-- needs samples
-- was thresholds signal=all
-- was time_to_thresholds signal=all
-- shows node, signal, room, seconds_to_threshold, pod, growth_per_hour, threshold
-- param cluster, node
-- param signal String '': a signal such as memory.available, or all; empty is the nearest of each node
-- param depth UInt32 1: number of pods of each order to show; 0 is all
WITH
    nearest AS (
        -- From the roll-ups, whose last pieces lie together: of the samples, each series would be read
        SELECT
            *,
            ifNull(available < hard_threshold, 0) AS meets_hard,
            ifNull(available < soft_threshold, 0) AS meets_soft,
            multiIf(meets_hard, 'hard', meets_soft, 'soft', ifNull({first_threshold} = hard_threshold, soft_threshold IS NULL), 'hard', 'soft') AS meets,
            if(meets = 'hard', hard_threshold, soft_threshold) AS threshold,
            multiIf(meets_hard OR meets_soft, 0, meets = 'hard', seconds_to_hard, seconds_to_soft) AS seconds_to_threshold,
            available - threshold AS room,
            row_number() OVER (
                PARTITION BY cluster, node
                ORDER BY threshold IS NULL, NOT meets_hard, NOT meets_soft, gc_first, coalesce(seconds_to_threshold, 1e18), room / capacity, signal
            ) AS place
        FROM signal_history
        WHERE (cluster, node, signal, ts) IN (SELECT cluster, node, signal, toStartOfInterval(last_at, toIntervalMinute(5)) FROM last_signals)
            AND {filters cluster, node}
    ),
    chosen AS (SELECT * FROM nearest WHERE if({signal:String} = '', place = 1, {signal:String} IN ('all', signal))),
    of_samples AS (
        SELECT cluster, node, signal, ts, soft_grace_seconds, soft_met_since, minimum_reclaim
        FROM eviction_signals
        WHERE ts IN (SELECT last_at FROM last_signals) AND (cluster, node, signal, ts) IN (SELECT cluster, node, signal, last_at FROM chosen)
    ),
    lasts AS (SELECT cluster, node, last_at AS last FROM last_samples),
    grown AS (
        SELECT
            cluster, node, uid,
            dateDiff('second', min(ts), max(ts)) AS seconds,
            (argMax(used, ts), argMin(used, ts)) AS ends
        FROM (
            SELECT
                cluster, node, uid, ts,
                (
                    memory_working_set_bytes,
                    rootfs_used_bytes + logs_used_bytes + volumes_used_bytes,
                    rootfs_inodes_used + logs_inodes_used + volumes_inodes_used,
                    processes
                ) AS used
            FROM pod_samples
            -- By pieces of five minutes, so that only these are read
            WHERE (cluster, node, toStartOfInterval(ts, toIntervalMinute(5))) IN (SELECT cluster, node, toStartOfInterval(last - toIntervalMinute(arrayJoin([0, 5, 10])), toIntervalMinute(5)) FROM lasts)
        ) AS p
        INNER JOIN lasts USING (cluster, node)
        WHERE ts > last - INTERVAL 10 MINUTE
        GROUP BY cluster, node, uid
    )
SELECT
    s.cluster AS cluster, s.node AS node, s.signal AS signal, s.last_at AS ts, s.room AS room,
    s.threshold AS threshold, s.seconds_to_threshold AS seconds_to_threshold, nullIf(o.rank, 0) AS rank,
    o.namespace AS namespace, o.pod AS pod,
    if(g.seconds < 60, NULL, 3600 / g.seconds * multiIf(
        o.signal IN ('memory.available', 'allocatableMemory.available'), g.ends.1.1 - g.ends.2.1,
        o.signal = 'pid.available', g.ends.1.4 - g.ends.2.4,
        endsWith(o.signal, 'inodesFree'), g.ends.1.3 - g.ends.2.3,
        g.ends.1.2 - g.ends.2.2)) AS growth_per_hour,
    o.usage AS usage,
    if(rank IS NULL, NULL, o.request) AS request,
    if(rank IS NULL, NULL, o.exceeds_request) AS exceeds_request,
    if(rank IS NULL, NULL, o.priority) AS priority,
    s.meets AS meets, s.available AS available, s.capacity AS capacity, s.hard_threshold AS hard_threshold,
    s.soft_threshold AS soft_threshold, r.soft_grace_seconds AS soft_grace_seconds,
    r.soft_met_since AS soft_met_since,
    r.soft_met_since + toIntervalMicrosecond(round(r.soft_grace_seconds * 1e6)) AS soft_due_at,
    r.minimum_reclaim AS minimum_reclaim,
    s.threshold + coalesce(r.minimum_reclaim, 0) AS ends_above,
    s.slope_per_second AS slope_per_second, s.seconds_to_hard AS seconds_to_hard,
    s.seconds_to_hard_earliest AS seconds_to_hard_earliest, s.seconds_to_hard_latest AS seconds_to_hard_latest,
    s.seconds_to_soft AS seconds_to_soft, s.seconds_to_soft_earliest AS seconds_to_soft_earliest,
    s.seconds_to_soft_latest AS seconds_to_soft_latest, s.acts_first AS acts_first, s.gc_first AS gc_first,
    s.thresholds_assumed AS thresholds_assumed
FROM chosen AS s
INNER JOIN of_samples AS r ON r.cluster = s.cluster AND r.node = s.node AND r.signal = s.signal AND r.ts = s.last_at
LEFT JOIN (SELECT * FROM eviction_order WHERE {depth:UInt32} = 0 OR rank <= {depth:UInt32}) AS o
    ON o.cluster = s.cluster AND o.node = s.node AND o.signal = replaceOne(s.signal, 'allocatableMemory', 'memory')
LEFT JOIN grown AS g ON g.cluster = o.cluster AND g.node = o.node AND g.uid = o.uid
ORDER BY s.threshold IS NULL, NOT s.meets_hard, NOT s.meets_soft, s.gc_first, coalesce(s.seconds_to_threshold, 1e18), s.room / s.capacity, cluster, node, signal, rank
