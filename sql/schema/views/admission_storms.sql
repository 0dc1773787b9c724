-- column condition: Condition that the pods were rejected for
-- column started_at: When the first was rejected
-- column ended_at: When the last was rejected
-- column pods: How many were rejected
-- column namespaces: Their namespaces
-- column owners: Their controlling owners, as ReplicaSet/name
CREATE OR REPLACE VIEW admission_storms AS
WITH
    rejected AS (
        SELECT
            cluster, node, resource, ts, namespace, uid,
            lagInFrame(toNullable(ts)) OVER (
                PARTITION BY cluster, node, resource ORDER BY ts, uid
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS before
        FROM pod_evictions
        WHERE cause = 'admission'
    ),
    numbered AS (
        SELECT
            *,
            sum(toUInt64(before IS NULL OR ts >= before + toIntervalSecond(60))) OVER (
                PARTITION BY cluster, node, resource ORDER BY ts, uid
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) AS storm
        FROM rejected
    ),
    owners AS (
        SELECT cluster, uid, any(if(owner_name = '', '', concat(owner_kind, '/', owner_name))) AS owner
        FROM pod_bindings FINAL
        WHERE (cluster, uid) IN (SELECT cluster, uid FROM evictions WHERE cause = 'admission')
        GROUP BY cluster, uid
    )
SELECT
    n.cluster AS cluster, n.node AS node, n.resource AS condition, min(n.ts) AS started_at, max(n.ts) AS ended_at,
    count() AS pods,
    arraySort(groupUniqArray(n.namespace)) AS namespaces,
    arraySort(groupUniqArrayIf(o.owner, o.owner != '')) AS owners
FROM numbered AS n
LEFT JOIN owners AS o ON o.cluster = n.cluster AND o.uid = n.uid
GROUP BY n.cluster, n.node, n.resource, n.storm
COMMENT 'Pods that a node rejected one after the other, less than 60 s apart, as one story with a count'
