-- The pod that still runs on each of some nodes whose memory and whose local storage grew most in the ten minutes before its last sample
SELECT node, kind, namespace, pod, owner_kind, owner, owner_known, bytes_per_second
FROM (
    SELECT
        p.node AS node, p.namespace AS namespace, p.pod AS pod, tupleElement(b.owned, 1) AS owner_kind,
        if(owner_kind = 'Node', p.pod, tupleElement(b.owned, 2)) AS owner,
        b.uid != '' AS owner_known,
        tupleElement(grown, 1) AS kind,
        tupleElement(grown, 2) / p.seconds AS bytes_per_second
    FROM (
        SELECT
            s.node AS node, s.uid AS uid, any(s.namespace) AS namespace, any(s.pod) AS pod,
            dateDiff('second', min(s.ts), max(s.ts)) AS seconds,
            argMax(s.memory, s.ts) - argMin(s.memory, s.ts) AS memory,
            argMax(s.disk, s.ts) - argMin(s.disk, s.ts) AS disk
        FROM (
            SELECT node, uid, namespace, pod, ts, toInt64(ifNull(memory_working_set_bytes, 0)) AS memory, toInt64(ifNull(ephemeral_used_bytes, 0)) AS disk
            FROM pod_samples
            WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND {filters namespace}
        ) AS s
        INNER JOIN (
            SELECT node, max(ts) AS last
            FROM node_samples
            WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
            GROUP BY node
        ) AS n ON n.node = s.node
        WHERE s.ts > n.last - INTERVAL 10 MINUTE
        GROUP BY node, uid
        HAVING seconds >= {least_seconds:UInt32} AND max(s.ts) > any(n.last) - INTERVAL 1 MINUTE
    ) AS p
    LEFT JOIN (
        SELECT uid, any((toString(owner_kind), owner_name)) AS owned, max(change IN ('finished', 'deleted') AND ts < {until:DateTime64(6)}) AS ended
        FROM pod_bindings
        WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)}
        GROUP BY uid
    ) AS b ON b.uid = p.uid
    ARRAY JOIN [('memory', p.memory), ('disk', p.disk)] AS grown
    WHERE NOT b.ended
)
WHERE bytes_per_second * 3600 >= {least:UInt64}
ORDER BY bytes_per_second DESC, node, namespace, pod
LIMIT 1 BY node, kind
