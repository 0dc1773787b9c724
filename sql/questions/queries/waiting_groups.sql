-- Which workloads of Kueue and gangs of Volcano waited at their last Event, and what each lacked then
-- form pending_pods group
-- needs events
-- shows last_event_at, namespace, workload, lacks, said
-- param cluster, namespace
WITH
    extractAllGroupsVertical(said, 'insufficient unused quota (?:in cohort )?for ([^ ]+) in flavor ([^ ,;]+), ([^ ]+) more needed') AS needed,
    extractAllGroupsVertical(said, 'insufficient quota for ([^ ]+) in flavor ([^ ,;]+)[^;]*? maximum capacity [(](?:[^()>]* > )?([^()]*)[)]') AS beyond,
    -- Volcano sorts its counts as texts: "10 minAvailable, 9 Pending". Reasons of pending pods follow the semicolon
    splitByChar(';', said)[1] AS counts,
    extract(counts, 'pod group is not ready,.* ([0-9]+) minAvailable') AS gang,
    extract(counts, 'pod group is not ready,.* ([0-9]+) Pending') AS pending
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
ORDER BY cluster, namespace, workload, last_event_at
