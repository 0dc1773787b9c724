-- Everything that was concluded, in words, in the order of time: for the report and the story after a replay.
-- column ts: When it happened or began
-- column node: The node that it concerns; empty if it concerns the cluster
-- column kind: kubelet, node, settings, stall, pressure, unguarded, eviction, limit, rejection, pod_end, image_gc, scheduler, numa, silence, pending, warning or unknown
-- column what: A sentence about it
-- column about: What it has in common with others of its kind: a condition, a resource, a reason, a verdict
-- column pod: The one pod that it is about, as namespace/name; empty if it is about none or several
-- column namespaces: Namespaces of the pods and objects that it is about; empty if there are none
CREATE OR REPLACE VIEW story AS
WITH
    (
        -- A scalar, so that it is read once for all that rests on it
        SELECT groupArray((cluster, last_at, nodes, unsampled, silent))
        FROM
        (
            SELECT
                cluster, any(last_at) AS last_at, count() AS nodes,
                countIf(last_sample_at IS NULL) AS unsampled,
                groupArrayIf((node, last_sample_at, silent_seconds), silent_seconds > 600) AS silent
            FROM node_evidence
            GROUP BY cluster
        )
    ) AS evidence,
    seen AS
    (
        SELECT toLowCardinality(each.1) AS cluster, each.2 AS last_at, each.3 AS nodes, each.4 AS without, each.5 AS silent
        FROM (SELECT arrayJoin(evidence) AS each)
    )
SELECT cluster, ts, node, kind, what, about, pod, namespaces
FROM
(
    SELECT cluster, ts, node, 'kubelet' AS kind, {kubelet_started} AS what, 'The kubelet started' AS about, {of_no_pod}
    FROM node_events FINAL
    -- Before rows are merged, which an Event allows: none of these ever changes in it
    PREWHERE {kubelet_start}
    UNION ALL
    SELECT
        cluster, ts, node, 'pressure' AS kind, what,
        toString(condition) AS about, {of_no_pod}
    FROM pressure_changes FINAL
    WHERE NOT kubelet_restart OR lasted_seconds IS NOT NULL
    UNION ALL
    -- Of memory and PIDs there is nothing to reclaim: the evictions say it
    SELECT cluster, ts, node, 'pressure' AS kind, what, 'reclaimed' AS about, {of_no_pod}
    FROM reclaims FINAL
    WHERE resource IN ('ephemeral-storage', 'inodes') OR outcome = 'no_eviction_seen'
    UNION ALL
    -- The first sample of an hour with little
    SELECT
        cluster, ts, node, 'unguarded' AS kind, {ran_low} AS what,
        resource AS about, {of_no_pod}
    FROM
    (
        SELECT s.cluster AS cluster, min(s.at) AS ts, s.node AS node, s.signal AS signal, s.resource AS resource, min(s.available) AS lowest, any(s.capacity) AS capacity
        FROM
        (
            SELECT cluster, node, at, resource, guarded, low.1 AS signal, low.2 AS available, low.3 AS capacity
            FROM
            (
                SELECT
                    cluster, node, ts AS at, {signal_resource} AS resource,
                    groupUniqArrayIf((capacity, available), hard_threshold IS NOT NULL OR soft_threshold IS NOT NULL) AS guarded,
                    groupUniqArrayIf((signal, available, capacity),
                        hard_threshold IS NULL AND soft_threshold IS NULL AND has({settable_signals}, signal) AND {is_low}) AS lows
                FROM eviction_signals
                PREWHERE (cluster, node) IN
                (
                    SELECT cluster, node
                    FROM eviction_signals_5m
                    PREWHERE {was_low} AND hard_threshold IS NULL AND soft_threshold IS NULL AND has({settable_signals}, signal)
                    SETTINGS final = 0
                )
                GROUP BY cluster, node, at, resource
                HAVING notEmpty(lows)
            )
            ARRAY JOIN lows AS low
        ) AS s
        WHERE NOT arrayExists(x -> {is_near}, s.guarded)
        GROUP BY cluster, node, signal, resource, toStartOfHour(s.at)
    )
    UNION ALL
    SELECT
        cluster, ts, node, if(cause = 'limit', 'limit', 'eviction') AS kind, what,
        multiIf(cause = 'limit', '', cause = 'unknown', 'unknown', toString(resource)) AS about, concat(namespace, '/', e.pod) AS pod,
        [toString(namespace)] AS namespaces
    FROM pod_evictions AS e
    WHERE cause != 'admission'
    UNION ALL
    SELECT
        cluster, ts, node, 'rejection' AS kind, {rejected} AS what,
        toString(condition) AS about, '' AS pod, namespaces
    FROM
    (
        SELECT
            cluster, started_at AS ts, node, pods, dateDiff('second', started_at, ended_at) AS seconds, condition,
            arrayStringConcat(owners, ', ') AS owners, arrayMap(each -> toString(each), namespaces) AS namespaces
        FROM admission_storms
    )
    UNION ALL
    SELECT cluster, ts, node, 'pod_end' AS kind, {ended} AS what, ending AS about, pod, namespaces
    FROM
    (
        SELECT
            cluster, min(ended_at) AS ts, node, ending,
            uniqExact(uid) AS pods, if(pods = 1, concat(any(namespace), '/', any(name)), '') AS pod, count() AS times,
            countIf(time_known) AS timed, count(begun) = count() AS has_earliest, count(over) = count() AS has_latest,
            assumeNotNull(min(begun)) AS earliest, assumeNotNull(max(over)) AS latest,
            argMax(why, ended_at) AS explanation, if(cause = 'admission', argMax(said, ended_at), '') AS words,
            groupUniqArray(toString(namespace)) AS namespaces
        FROM
        (
            SELECT
                cluster, ts AS ended_at, time_known, earliest AS begun, latest AS over, node, namespace, pod AS name, uid, cause, ending,
                explanation AS why, trimBoth(message) AS said
            FROM pod_ends FINAL
            WHERE ending != '' AND (cause != 'exited' OR exit_code != 0)
                AND (cause != 'admission' OR (cluster, uid) NOT IN
                (
                    SELECT cluster, uid FROM pod_evictions
                    UNION ALL
                    SELECT cluster, uid FROM numa_admission_failures FINAL
                ))
        )
        GROUP BY cluster, node, cause, ending, toStartOfMinute(ended_at)
    )
    UNION ALL
    -- Of Events alone, where no Pod shows its end
    SELECT cluster, ts, node, 'pod_end' AS kind, {ended_by_event} AS what, ending AS about, pod, namespaces
    FROM
    (
        SELECT
            cluster, min(ended_at) AS ts, node, by_taint,
            if(by_taint, 'marked for deletion for a NoExecute taint', concat('evicted by ', author)) AS ending,
            uniqExact(named) AS pods, if(pods = 1, any(named), '') AS pod, argMax(said, (ended_at, named)) AS words,
            groupUniqArray(toString(namespace)) AS namespaces
        FROM
        (
            SELECT cluster, ts AS ended_at, node, namespace, concat(namespace, '/', object_name) AS named, {marked_for_taint} AS by_taint, {evicted_by} AS author, message AS said
            FROM node_events FINAL
            WHERE object_kind = 'Pod' AND (by_taint OR author != '')
                AND (cluster, namespace, object_name) NOT IN (SELECT cluster, namespace, pod FROM pod_ends WHERE cause IN ('api_eviction', 'taint_manager'))
        )
        GROUP BY cluster, node, by_taint, author, toStartOfMinute(ended_at)
    )
    UNION ALL
    -- Of kubelets' logs, what no Event tells
    SELECT
        l.cluster AS cluster, l.ts AS ts, l.node AS node,
        multiIf(l.said = 'kubelet_start', 'kubelet', l.said = 'not_ready', 'node', 'pressure') AS kind, l.what AS what,
        multiIf(l.said = 'kubelet_start', 'The kubelet started', l.said = 'reclaimed', 'reclaimed', l.said = 'not_ready', 'not Ready', 'none evicted') AS about,
        {of_no_pod}
    FROM (SELECT cluster, ts, node, said, what FROM kubelet_log FINAL WHERE said IN ('kubelet_start', 'not_ready', 'reclaimed', 'none_evicted')) AS l
    LEFT JOIN
    (
        SELECT cluster, node, groupUniqArray(ts) AS starts
        FROM node_events
        PREWHERE {kubelet_start}
        GROUP BY cluster, node
    ) AS e ON e.cluster = l.cluster AND e.node = l.node
    LEFT JOIN
    (
        SELECT cluster, node, groupArray((ts, last_at)) AS attempts FROM reclaims FINAL WHERE logged GROUP BY cluster, node
    ) AS r ON r.cluster = l.cluster AND r.node = l.node
    WHERE multiIf(
        l.said = 'kubelet_start', NOT arrayExists(at -> abs(dateDiff('second', at, l.ts)) < 10, e.starts),
        l.said = 'reclaimed', NOT arrayExists(each -> l.ts BETWEEN each.1 - toIntervalMinute(1) AND each.2 + toIntervalMinute(1), r.attempts),
        1)
    UNION ALL
    SELECT
        cluster, ts, node, 'image_gc' AS kind, {images_removed} AS what,
        'images removed' AS about, {of_no_pod}
    FROM
    (
        SELECT cluster, min(r.ts) AS ts, node, count() AS images, sum(ifNull(amount_bytes, 0)) AS freed
        FROM kubelet_log AS r FINAL
        WHERE said = 'image_removed'
        GROUP BY cluster, node, toStartOfFiveMinutes(r.ts)
    )
    UNION ALL
    SELECT cluster, ts, node, 'image_gc' AS kind, what,
        toString(verdict) AS about, {of_no_pod}
    FROM image_gc_episodes
    UNION ALL
    SELECT
        cluster, ts, node, 'scheduler' AS kind, what, toString(verdict) AS about, '' AS pod,
        if(namespace = '', [], [toString(namespace)]) AS namespaces
    FROM scheduler_blind_spots AS b FINAL
    WHERE verdict != 'inconclusive'
    UNION ALL
    SELECT cluster, ts, if(nodes = 1, one_place, '') AS node, 'numa' AS kind, {not_admitted} AS what, toString(reason) AS about, pod, namespaces
    FROM
    (
        SELECT
            cluster, min(failed_at) AS ts, uniqExact(place) AS nodes, any(place) AS one_place, reason,
            count() AS pods, if(pods = 1, concat(any(namespace), '/', any(name)), '') AS pod, owner, namespace,
            dateDiff('second', min(failed_at), max(failed_at)) AS seconds, argMax(why, failed_at) AS explanation, argMax(said, failed_at) AS words,
            max(unsure) AS untimed, groupUniqArray(toString(namespace)) AS namespaces
        FROM
        (
            SELECT *,
                sum(toUInt64(before IS NULL OR failed_at >= before + toIntervalMinute(15))) OVER (
                    PARTITION BY cluster, namespace, owner, maker, reason ORDER BY failed_at, uid
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                ) AS runaway
            FROM
            (
                SELECT
                    f.cluster AS cluster, f.ts AS failed_at, f.node AS place, f.namespace AS namespace, f.pod AS name, f.uid AS uid,
                    f.reason AS reason, f.explanation AS why, trimBoth(f.message) AS said, o.owner AS owner, o.unsure AS unsure,
                    if(o.owner = '', f.uid, '') AS maker,
                    lagInFrame(toNullable(f.ts)) OVER (
                        PARTITION BY f.cluster, f.namespace, o.owner, maker, f.reason ORDER BY f.ts, f.uid
                        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                    ) AS before
                FROM numa_admission_failures AS f FINAL
                LEFT JOIN
                (
                    SELECT cluster, uid, any(if(owner_name = '', '', concat(owner_kind, ' ', owner_name))) AS owner, max(NOT time_known) AS unsure
                    FROM pod_ends FINAL
                    WHERE container = ''
                    GROUP BY cluster, uid
                ) AS o ON o.cluster = f.cluster AND o.uid = f.uid
            )
        )
        GROUP BY cluster, namespace, owner, maker, reason, runaway
    )
    UNION ALL
    SELECT cluster, ts, node, 'numa' AS kind, {disagreement} AS what, 'disagreement' AS about, {of_no_pod}
    FROM numa_disagreements FINAL
    UNION ALL
    SELECT
        l.cluster AS cluster, l.ts AS ts, '' AS node, 'numa' AS kind, {late_joiners} AS what,
        'late joiners' AS about, {of_no_pod}
    FROM
    (
        SELECT cluster, ts, explanation, ifNull(largest_fit_cpus, 0) AS fits, verdict
        FROM late_joiners FINAL
        ORDER BY ts DESC
        LIMIT 1 BY cluster
    ) AS l
    LEFT JOIN
    (
        SELECT cluster, ifNull(largest_fit_cpus, 0) AS would_fit FROM numa_whatif FINAL WHERE scope = 'cluster' AND strategy = 'most_allocated'
    ) AS w ON w.cluster = l.cluster
    WHERE l.verdict = 'late_joiners_emptier'
    UNION ALL
    WITH was_ready OR ifNull(told < ts, 0) AS again
    SELECT
        cluster, ts, node, 'node' AS kind, {readiness} AS what,
        state AS about, {of_no_pod}
    FROM
    (
        SELECT
            cluster, ifNull(ready_since, ts) AS ts, ready_since IS NOT NULL AS timed, node, ready_message AS message,
            transform({ready_state}, ['Gone', 'Unsaid'], ['', '']) AS state,
            lagInFrame(state, 1, '') OVER (
                PARTITION BY cluster, node ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS before,
            max(state = 'Ready') OVER (
                PARTITION BY cluster, node ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS was_ready
        FROM nodes FINAL
    ) AS n
    LEFT JOIN
    (
        SELECT cluster, object_name AS node, toNullable(min(ts)) AS told
        FROM node_events PREWHERE reason = 'NodeNotReady' AND object_kind = 'Node' GROUP BY cluster, object_name
    ) AS e ON e.cluster = n.cluster AND e.node = n.node
    WHERE state != before AND (state IN ('NotReady', 'Unknown') OR (state = 'Ready' AND (before != '' OR told < ts)))
    UNION ALL
    -- Of Events alone: a Node shows its last state, and what was between is in nobody's condition
    SELECT
        cluster, ts, node, 'node' AS kind, {readiness_by_event} AS what,
        if(is_ready, 'Ready by an Event', 'Not Ready by an Event') AS about, {of_no_pod}
    FROM
    (
        SELECT
            cluster, ts, object_name AS node, reason = 'NodeReady' AS is_ready,
            lagInFrame(toNullable(is_ready)) OVER (
                PARTITION BY cluster, object_name ORDER BY ts, is_ready ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS before
        FROM node_events FINAL
        PREWHERE reason IN ('NodeReady', 'NodeNotReady') AND object_kind = 'Node'
    ) AS e
    LEFT JOIN
    (
        SELECT cluster, node, groupUniqArray(ifNull(ready_since, ts)) AS turned FROM nodes GROUP BY cluster, node
    ) AS n ON n.cluster = e.cluster AND n.node = e.node
    WHERE if(is_ready, before = 0, ifNull(before, 1) = 1)
        AND NOT arrayExists(at -> abs(dateDiff('second', at, e.ts)) < 90, n.turned)
    UNION ALL
    SELECT
        cluster, ts, node, 'pressure' AS kind, {began_often} AS what,
        concat(condition, ' by an Event') AS about, {of_no_pod}
    FROM
    (
        SELECT e.cluster AS cluster, max(e.ts) AS ts, e.node AS node, e.condition AS condition, max(e.count) AS times
        FROM
        (
            SELECT cluster, ts, object_name AS node, count,
                {pressures} AS condition
            FROM node_events FINAL
            PREWHERE reason IN {pressure_reasons} AND object_kind = 'Node'
        ) AS e
        LEFT JOIN
        (
            SELECT cluster, node, toString(condition) AS condition, count() AS known FROM pressure_changes FINAL WHERE status GROUP BY cluster, node, condition
        ) AS p ON p.cluster = e.cluster AND p.node = e.node AND p.condition = e.condition
        GROUP BY cluster, node, condition
        HAVING times > greatest(any(p.known), 1)
    )
    UNION ALL
    WITH endsWith(message, 'cancellation') AS called_off, startsWith(component, 'machine') AS by_machine_config
    SELECT
        cluster, ts, object_name AS node, 'node' AS kind, {machine_event} AS what,
        toString(reason) AS about, {of_no_pod}
    FROM node_events FINAL
    PREWHERE {concerns_machine}
    UNION ALL
    WITH said[condition] AS words
    SELECT
        cluster, if(begins, ifNull(since[condition], n.ts), n.ts) AS ts, node, 'node' AS kind, {problem} AS what,
        toString(condition) AS about, {of_no_pod}
    FROM
    (
        SELECT
            cluster, ts, node, problems AS said, problems_since AS since, mapKeys(problems) AS now,
            lagInFrame(mapKeys(problems)) OVER (
                PARTITION BY cluster, node ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS before
        FROM nodes FINAL
        WHERE NOT deleted
    ) AS n
    ARRAY JOIN arrayConcat(arrayFilter(each -> NOT has(before, each), now), arrayFilter(each -> NOT has(now, each), before)) AS condition,
        arrayConcat(arrayMap(each -> 1, arrayFilter(each -> NOT has(before, each), now)), arrayMap(each -> 0, arrayFilter(each -> NOT has(now, each), before))) AS begins
    UNION ALL
    -- The time of the taint, else of the kubelet's Event, where the first version of the object with the change is newer
    SELECT
        n.cluster AS cluster,
        multiIf(
            n.cordoned AND n.cordoned_since > n.before_at AND n.cordoned_since <= n.ts, assumeNotNull(n.cordoned_since),
            n.cordoned AND e.ts > n.before_at, e.ts,
            NOT n.cordoned AND e.ended_at > n.before_at AND e.ended_at <= n.ts, assumeNotNull(e.ended_at), n.ts) AS ts,
        n.node AS node, 'node' AS kind, {cordon} AS what,
        if(cordoned, 'cordoned', 'uncordoned') AS about, {of_no_pod}
    FROM
    (
        SELECT
            cluster, ts, node, unschedulable AS cordoned, cordoned_since, deleted,
            lagInFrame(unschedulable, 1, 0) OVER w AS before,
            lagInFrame(ts) OVER w AS before_at
        FROM nodes FINAL
        WINDOW w AS (PARTITION BY cluster, node ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    ) AS n
    ASOF LEFT JOIN (SELECT cluster, node, ts, if(by_event, until, NULL) AS ended_at FROM event_cordons WHERE in_object) AS e
        ON e.cluster = n.cluster AND e.node = n.node AND n.ts >= e.ts
    WHERE cordoned != before AND NOT deleted
    UNION ALL
    SELECT cluster, assumeNotNull(change.1) AS ts, node, 'node' AS kind, {cordon_by_event} AS what,
        if(cordoned, 'cordoned by an Event', 'uncordoned by an Event') AS about, {of_no_pod}
    FROM (SELECT *, arrayJoin([(toNullable(ts), 1), (until, 0)]) AS change, change.2 AS cordoned FROM event_cordons WHERE NOT in_object)
    WHERE change.1 IS NOT NULL
    UNION ALL
    SELECT
        cluster, ts, node, 'stall' AS kind, {tasks_stalled} AS what,
        resource AS about, {of_no_pod}
    FROM
    (
        SELECT
            cluster, min(at) AS ts, place AS node, if(memory >= io, 'memory', 'I/O') AS resource, round(greatest(memory, io)) AS percent,
            dateDiff('second', min(at), max(at)) + toUInt32(max(window_seconds)) AS seconds, swapped
        FROM
        (
            SELECT *,
                max(ifNull(memory_full_percent, 0)) OVER (PARTITION BY cluster, place, episode) AS memory,
                max(ifNull(io_full_percent, 0)) OVER (PARTITION BY cluster, place, episode) AS io,
                max(ifNull(swap_usage_bytes, 0)) OVER (PARTITION BY cluster, place, episode) AS swapped
            FROM
            (
                SELECT *,
                    sum(toUInt64(before IS NULL OR at > before + toIntervalMinute(2))) OVER (
                        PARTITION BY cluster, place ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                    ) AS episode
                FROM
                (
                    SELECT
                        s.cluster AS cluster, s.ts AS at, s.node AS place, s.memory_full_percent AS memory_full_percent,
                        s.io_full_percent AS io_full_percent, s.swap_usage_bytes AS swap_usage_bytes, s.window_seconds AS window_seconds,
                        lagInFrame(toNullable(s.ts)) OVER (
                            PARTITION BY s.cluster, s.node ORDER BY s.ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                        ) AS before
                    FROM node_stalls AS s FINAL
                )
            )
        )
        GROUP BY cluster, place, episode, memory, io, swapped
        HAVING memory >= 10 OR io >= 40
    )
    UNION ALL
    SELECT
        cluster, ts, if(nodes = 1, place, '') AS node, 'settings' AS kind, {setting} AS what,
        toString(rule) AS about, {of_no_pod}
    FROM
    (
        SELECT cluster, min(since) AS ts, uniqExact(node) AS nodes, any(node) AS place, rule, problem, advice
        FROM (SELECT cluster, ts AS since, node, rule, subject, problem, advice FROM settings_warnings FINAL WHERE holds)
        GROUP BY cluster, rule, subject, problem, advice, toStartOfHour(since)
    )
    UNION ALL
    WITH
        s.ends_at AS until, s.created_by AS author,
        arrayStringConcat(arrayMap(m -> concat(m.1, m.2, '"', m.3, '"'), s.matchers), ', ') AS matchers
    SELECT
        c.cluster AS cluster, s.starts_at AS ts, '' AS node, 'silence' AS kind, {silenced} AS what,
        '' AS about, {of_no_pod}
    FROM (SELECT * FROM silences FINAL WHERE ends_at > starts_at) AS s
    CROSS JOIN (SELECT DISTINCT cluster FROM nodes) AS c
    WHERE arrayAll(
        -- A value is compiled as a pattern only where it is one
        m -> m.1 != 'cluster' OR if(endsWith(m.2, '~'),
            match(c.cluster, concat('(?s)^(?:', if(endsWith(m.2, '~'), m.3, ''), ')$')), c.cluster = m.3) != startsWith(m.2, '!'),
        s.matchers)
    UNION ALL
    SELECT cluster, ts, node, 'pending' AS kind, {pending} AS what, state AS about, pod, [toString(namespace)] AS namespaces
    FROM
    (
        SELECT
            w.cluster AS cluster, min(w.since) AS ts, w.node AS node, if(w.node = '', 'not scheduled', 'not started') AS state,
            count() AS pods, if(pods = 1, concat(any(w.namespace), '/', any(w.pod)), '') AS pod, w.owner AS owner, w.namespace AS namespace,
            argMax(w.why, (w.since, w.pod)) AS why
        FROM pod_waits AS w
        WHERE w.until IS NULL
            AND (w.cluster, w.uid) IN
            (
                -- Few, so that pod_waits has few to sum up
                SELECT cluster, uid
                FROM (SELECT cluster, uid, ts, {is_waiting} AS waiting FROM pod_bindings SETTINGS final = 0)
                GROUP BY cluster, uid
                HAVING maxIf(ts, waiting) > maxIf(ts, NOT waiting)
            )
            AND arrayExists(each -> each.1 = w.cluster AND (w.reason != '' OR w.since < each.2 - toIntervalMinute(1)), evidence)
        GROUP BY w.cluster, w.namespace, w.owner, w.node
    )
    UNION ALL
    SELECT
        cluster, first_at AS ts, node, 'warning' AS kind, {warning} AS what, toString(reason) AS about, '' AS pod,
        namespaces
    FROM
    (
        SELECT
            e.cluster AS cluster, e.node AS node, e.reason AS reason, min(e.ts) AS first_at,
            sum(e.occurrences) AS times, max(e.occurrences_lower_bound) AS at_least,
            uniqExact(e.object_kind, e.namespace, e.object_name) AS objects,
            any(concat(e.object_kind, ' ', if(e.object_kind = 'Node', '', concat(e.namespace, '/')), e.object_name)) AS thing,
            argMax(e.message, (e.ts, e.message)) AS message,
            groupUniqArrayIf(toString(e.namespace), e.namespace != '' AND e.object_kind != 'Node') AS namespaces
        FROM untold_warnings AS e
        GROUP BY e.cluster, e.node, e.reason, toStartOfHour(e.ts)
    )
    UNION ALL
    -- The line of all nodes without statistics names none
    WITH assumeNotNull(each.3) AS seconds, each.1 = '' AS of_all
    SELECT
        cluster, if(of_all, last_at, assumeNotNull(each.2)) AS ts, each.1 AS node, 'unknown' AS kind,
        if(of_all, {unsampled}, {fell_silent}) AS what, if(of_all, 'kubelets not seen', 'kubelet silent') AS about, {of_no_pod}
    FROM seen
    ARRAY JOIN arrayConcat(silent, arrayResize([('', toNullable(last_at), toNullable(toInt64(0)))], without > 0)) AS each
    UNION ALL
    SELECT
        cluster, ts, '' AS node, 'unknown' AS kind, {partial} AS what,
        'partial' AS about, {of_no_pod}
    FROM
    (
        SELECT cluster, resource, min(at) AS ts, sum(dropped) AS entries
        FROM
        (
            SELECT cluster, resource, ts AS at, ifNull(entries, 0) AS dropped
            FROM source_errors FINAL
            WHERE kind = 'partial'
        )
        GROUP BY cluster, resource, toStartOfHour(at)
    )
)
COMMENT 'Conclusions in words for each node, in order of time'
