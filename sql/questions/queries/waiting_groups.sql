-- Which workloads of Kueue and gangs of Volcano wait, and what each lacks, by their last Events
-- form pending_pods group
-- needs events
-- shows said_at, namespace, workload, lacks, said
-- param cluster, namespace
WITH
    extractAllGroupsVertical(said, 'insufficient unused quota (?:in cohort )?for ([^ ]+) in flavor ([^ ,;]+), ([^ ]+) more needed') AS needed,
    extractAllGroupsVertical(said, 'insufficient quota for ([^ ]+) in flavor ([^ ,;]+)[^;]*? maximum capacity [(](?:[^()>]* > )?([^()]*)[)]') AS beyond,
    extractAllGroupsVertical(said, '([0-9]+) Pending,[^;]* ([0-9]+) minAvailable') AS gang
SELECT
    cluster,
    namespace,
    kind,
    workload,
    last.1 AS said_at,
    last.2 AS reason,
    arrayConcat(
        arrayMap(each -> concat(each[3], ' more ', each[1], ' of flavor ', each[2]), needed),
        arrayMap(each -> concat('a request of at most ', each[3], ' ', each[1], ' of flavor ', each[2]), beyond),
        arrayMap(each -> concat('room for its gang of ', each[2], ': ', each[1], ' pending'), gang)) AS lacks,
    last.3 AS said
FROM
(
    SELECT cluster, namespace, object_kind AS kind, object_name AS workload, object_uid, argMax((ts, reason, message), ts) AS last
    FROM node_events
    WHERE object_kind IN ('Workload', 'PodGroup') AND {asked cluster, namespace}
    GROUP BY cluster, namespace, object_kind, object_name, object_uid
)
WHERE reason IN ('Pending', 'Unschedulable', 'Preempted')
    -- a deactivated workload does not wait: nobody admits it until someone sets spec.active again
    OR (startsWith(reason, 'EvictedDueTo') AND NOT startsWith(reason, 'EvictedDueToDeactivated'))
ORDER BY cluster, namespace, workload, said_at
