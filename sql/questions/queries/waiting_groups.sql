-- Which workloads of Kueue and gangs of pods waited at their last Event or words, and what each lacked
-- form pending_pods group
-- needs pods or events
-- shows last_event_at, namespace, workload, lacks, said
-- param cluster, namespace
WITH
    extractAllGroupsVertical(said, 'insufficient unused quota (?:in cohort )?for ([^ ]+) in flavor ([^ ,;]+), ([^ ]+) more needed') AS needed,
    extractAllGroupsVertical(said, 'insufficient quota for ([^ ]+) in flavor ([^ ,;]+)[^;]*? maximum capacity [(](?:[^()>]* > )?([^()]*)[)]') AS beyond,
    -- Volcano sorts its counts as texts: "10 minAvailable, 9 Pending". Reasons of pending pods follow the semicolon
    splitByChar(';', said)[1] AS counts,
    extract(counts, 'pod group is not ready,.* ([0-9]+) minAvailable') AS gang,
    extract(counts, 'pod group is not ready,.* ([0-9]+) Pending') AS pending
SELECT cluster, namespace, kind, workload, last_event_at, reason, lacks, said
FROM
(
    SELECT
        cluster,
        namespace,
        kind,
        workload,
        last.1 AS last_event_at,
        last.2 AS reason,
        arrayDistinct(arrayConcat(
            arrayMap(each -> concat(each[3], ' more ', each[1], ' of flavor ', each[2]), needed),
            arrayMap(each -> concat('a request of at most ', each[3], ' ', each[1], ' of flavor ', each[2]), beyond),
            if(gang = '' OR pending = '', [], [concat('room for its gang of ', gang, ': ', pending, ' pending')]))) AS lacks,
        last.3 AS said
    FROM
    (
        -- Events of Kueue have whole seconds. Within one, the end of the wait wins: a new wait would be followed by a new Pending
        SELECT
            cluster, namespace, object_kind AS kind, object_name AS workload, object_uid,
            argMax((ts, reason, message, waits), (ts, NOT waits, reason = 'Pending', reason, message)) AS last
        FROM
        (
            -- a deactivated workload does not wait: nobody admits it until someone sets spec.active again
            SELECT
                *,
                reason IN ('Pending', 'Unschedulable', 'Preempted')
                    OR (startsWith(reason, 'EvictedDueTo') AND NOT match(reason, '^EvictedDueTo(Deactivated|InactiveWorkload)')) AS waits
            FROM node_events
            WHERE object_kind IN ('Workload', 'PodGroup') AND {filters cluster, namespace}
        )
        GROUP BY cluster, namespace, object_kind, object_name, object_uid
    )
    WHERE last.4
    UNION ALL
    -- Koordinator writes no Event about a gang. Its scheduler's words about the pods name it; the time is that of the pods' last change
    SELECT
        cluster,
        splitByChar('/', named)[1] AS namespace,
        'PodGroup' AS kind,
        splitByChar('/', named)[2] AS workload,
        max(seen_at) AS last_event_at,
        'Unschedulable' AS reason,
        arraySort(arrayFilter(each -> each != '', groupUniqArray(lack))) AS lacks,
        argMax(message, (lack != '', seen_at, message)) AS said
    FROM
    (
        SELECT
            w.cluster AS cluster, b.seen_at AS seen_at, b.message AS message,
            coalesce(nullIf(extract(message, 'gangName: ([^ ,]+/[^ ,]+)'), ''), extract(message, 'Gang "([^"]+/[^"]+)" gets rejected due to')) AS named,
            extractGroups(message, 'due to member Pod "([^"]+)" is unschedulable with reason "(.*)"') AS member,
            multiIf(
                position(message, 'gang child pod not collect enough') > 0, 'more pods: fewer exist than its minimum',
                match(message, 'can.t find gang|gang has not init'), 'its PodGroup',
                notEmpty(member), concat('room for its pod ', member[1], ': ', member[2]),
                '') AS lack
        FROM pod_waits AS w
        INNER JOIN (
            SELECT cluster, uid, max(ts) AS seen_at, argMax(waits_for, {latest_change}) AS message FROM pod_bindings GROUP BY cluster, uid
        ) AS b ON b.cluster = w.cluster AND b.uid = w.uid
        WHERE w.until IS NULL AND named != '' AND ({cluster:String} = '' OR w.cluster = {cluster:String})
    )
    WHERE {namespace:String} = '' OR startsWith(named, concat({namespace:String}, '/'))
    GROUP BY cluster, named
)
ORDER BY cluster, namespace, workload, last_event_at
