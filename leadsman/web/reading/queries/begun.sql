-- Since when some nodes have been as they are at the end: the first sample or change after the last that was otherwise
SELECT node, what, each.1 AS kind, greatest(each.2, first_at) AS since, each.2 < first_at AS before
FROM (
    SELECT node, what, first_at, arrayMap(each -> (each.1, if(each.2 < first_at, each.2, arrayMin(arrayFilter(at -> at > each.2, seen)))), otherwise) AS lasts
    FROM (
        SELECT
            node, signal AS what, min(ts) AS first_at,
            [
                ('hard', maxIf(ts, NOT hard_met)),
                ('soft', maxIf(ts, NOT soft_met)),
                ('near', maxIf(ts, NOT (hard_met OR soft_met OR least(ifNull(seconds_to_hard, inf), ifNull(seconds_to_soft, inf)) <= {soon:Float64})))
            ] AS otherwise,
            groupArray(ts) AS seen
        FROM eviction_signals
        WHERE cluster = {cluster:String} AND node IN {near:Array(String)} AND signal IN {signals:Array(String)} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
        GROUP BY node, signal
        UNION ALL
        SELECT node, resource AS what, min(ts) AS first_at, [('over', maxIf(ts, requested <= allocatable))] AS otherwise, groupArray(ts) AS seen
        FROM node_fit
        WHERE cluster = {cluster:String} AND node IN {over:Array(String)} AND resource IN {resources:Array(String)} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
        GROUP BY node, resource
    )
    UNION ALL
    SELECT node, '' AS what, first_at,
        [(kind, if(last_otherwise < first_at, last_otherwise, arrayMin(arrayFilter(at -> at > last_otherwise, seen))))] AS lasts
    FROM (
        SELECT kind, node, min(ts) AS first_at, maxIf(ts, NOT holds) AS last_otherwise, groupArray(ts) AS seen
        FROM (
            SELECT 'uneven' AS kind, node, ts, ifNull(skew_ratio, 0) >= {uneven:Float64} AND ifNull(stranded_cpus, 0) > 0 AS holds
            FROM numa_skew
            WHERE cluster = {cluster:String} AND node IN {uneven_nodes:Array(String)} AND ts < {until:DateTime64(6)} AND fidelity != 'none'
            UNION ALL
            SELECT 'cordoned' AS kind, node, ts, NOT deleted AND (unschedulable OR arrayExists(taint -> splitByChar('=', taint)[1] IN {drains:Array(String)}, taints)) AS holds
            FROM nodes
            WHERE cluster = {cluster:String} AND node IN {cordoned:Array(String)} AND ts < {until:DateTime64(6)}
            UNION ALL
            SELECT DISTINCT 'cordoned' AS kind, n.node AS node, if(holds, assumeNotNull(n.cordoned_since), assumeNotNull(n.cordoned_since) - toIntervalMicrosecond(1)) AS ts, arrayJoin([0, 1]) AS holds
            FROM nodes AS n
            WHERE n.cluster = {cluster:String} AND n.node IN {cordoned:Array(String)} AND n.ts < {until:DateTime64(6)} AND n.cordoned_since <= n.ts
            UNION ALL
            -- The Event of a change: it was otherwise until then, but for a kubelet that repeats what it finds at its start or what
            -- a taint dates, and for who takes a node: that tells it more than once
            SELECT 'cordoned' AS kind, e.node AS node, if(change = 'before', e.ts - toIntervalMicrosecond(1), e.ts) AS ts, (e.reason != 'NodeSchedulable') = (change = 'after') AS holds
            FROM node_events AS e
            LEFT JOIN (
                SELECT node, groupArray(at) AS known
                FROM (
                    SELECT node, ts AS at
                    FROM node_events
                    WHERE cluster = {cluster:String} AND node IN {cordoned:Array(String)}
                        AND ({kubelet_start} OR (object_kind = 'Node' AND reason = 'Rebooted' AND component = 'kubelet'))
                    UNION ALL
                    SELECT node, assumeNotNull(cordoned_since) AS at
                    FROM nodes
                    WHERE cluster = {cluster:String} AND node IN {cordoned:Array(String)} AND ts < {until:DateTime64(6)} AND cordoned_since <= ts
                )
                GROUP BY node
            ) AS s ON s.node = e.node
            ARRAY JOIN if(
                e.reason NOT IN ('NodeNotSchedulable', 'NodeSchedulable') OR arrayExists(at -> e.ts >= at - toIntervalSecond(1) AND e.ts < at + toIntervalMinute(1), s.known),
                ['after'], ['before', 'after']) AS change
            WHERE e.cluster = {cluster:String} AND e.node IN {cordoned:Array(String)} AND e.ts < {until:DateTime64(6)}
                AND e.object_kind = 'Node' AND (e.reason IN ('NodeNotSchedulable', 'NodeSchedulable') OR e.reason IN {drain_events:Array(String)})
            UNION ALL
            SELECT 'late' AS kind, '' AS node, ts, verdict = 'late_joiners_emptier' AS holds
            FROM late_joiners
            WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
        )
        GROUP BY kind, node
        HAVING argMax(holds, ts)
    )
)
ARRAY JOIN lasts AS each
SETTINGS final = 0
