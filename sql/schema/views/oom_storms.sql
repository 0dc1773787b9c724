-- column namespace: Namespace of the workload
-- column owner: Its controller, as ReplicaSet/name, or Pod/name for a pod without one
-- column started_at: When its first container was killed
-- column ended_at: When its last container was killed
-- column kills: How many kills
-- column pods: Number of pods with a killed container
-- column nodes: On how many nodes
-- column first_nodes: The first five of them
-- column system_ooms: Kills within a minute of a SystemOOM Event of the node, which is for a node that ran out of memory
-- column cause: node if the node ran out each time; limit if it never did and every pod has a memory limit; otherwise unknown, because the kubelet drops Events
CREATE OR REPLACE VIEW oom_storms AS
WITH
    kills AS (
        SELECT
            e.cluster AS cluster, e.ts AS at, e.node AS place, e.namespace AS namespace, e.uid AS uid, e.container AS container, e.attempt AS attempt,
            if(e.owner_name = '', concat('Pod/', e.pod), concat(e.owner_kind, '/', e.owner_name)) AS owner,
            ifNull(o.at >= e.ts - toIntervalMinute(1), 0) AS of_node,
            b.has_limit AS has_limit
        FROM (SELECT *, ts + toIntervalMinute(1) AS latest FROM pod_ends FINAL WHERE cause = 'oom_kill') AS e
        ASOF LEFT JOIN (
            SELECT cluster, node, toNullable(ts) AS at, ts AS system_at FROM node_events FINAL WHERE reason = 'SystemOOM' AND object_kind = 'Node'
        ) AS o ON o.cluster = e.cluster AND o.node = e.node AND e.latest >= o.system_at
        LEFT JOIN (
            SELECT cluster, uid, argMax(memory_limit_bytes IS NOT NULL, ts) AS has_limit FROM pod_bindings GROUP BY cluster, uid
        ) AS b ON b.cluster = e.cluster AND b.uid = e.uid
    )
SELECT
    cluster, namespace, owner, min(at) AS started_at, max(at) AS ended_at, count() AS kills, uniqExact(uid) AS pods,
    uniqExact(place) AS nodes,
    arraySlice(arraySort(groupUniqArray(place)), 1, 5) AS first_nodes,
    countIf(of_node) AS system_ooms,
    multiIf(system_ooms = kills, 'node', system_ooms = 0 AND min(has_limit) = 1, 'limit', 'unknown') AS cause
FROM (
    SELECT *,
        sum(toUInt64(before IS NULL OR at >= before + toIntervalMinute(15))) OVER (
            PARTITION BY cluster, namespace, owner ORDER BY at, uid, container, attempt ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS storm
    FROM (
        SELECT *,
            lagInFrame(toNullable(at)) OVER (
                PARTITION BY cluster, namespace, owner ORDER BY at, uid, container, attempt ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS before
        FROM kills
    )
)
GROUP BY cluster, namespace, owner, storm
HAVING kills >= 3
COMMENT 'Workloads whose containers were OOM killed three times or more, each less than 15 min after the one before, on any nodes'
