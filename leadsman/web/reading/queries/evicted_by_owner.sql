-- Whose pods were evicted where, for what and how often, the most often first
SELECT
    e.cause AS cause, e.resource AS resource, e.node AS node, e.namespace AS namespace,
    if(o.owner.2 = '', ('Pod', e.pod), o.owner) AS owner,
    count() AS pods,
    min(if(e.time_known, e.ts, ifNull(e.earliest, e.ts))) AS first_at,
    max(if(e.time_known, e.ts, ifNull(e.latest, e.ts))) AS last_at,
    countIf(e.time_known) AS timed,
    countIf(NOT e.time_known AND e.earliest IS NULL) AS or_earlier,
    countIf(e.pods_usage_ratio < {unexplained:Float64}) AS unexplained
FROM pod_evictions AS e
LEFT JOIN (
    SELECT uid, any(multiIf(owner_name = '', ('', ''), owner_kind = 'Node', ('StaticPod', pod), (toString(owner_kind), owner_name))) AS owner
    FROM pod_ends
    WHERE cluster = {cluster:String} AND container = ''
    GROUP BY uid
) AS o ON o.uid = e.uid
WHERE e.cluster = {cluster:String} AND e.cause != 'admission' AND e.ts >= {since:DateTime64(6)} AND e.ts < {until:DateTime64(6)}
    AND ({namespace:String} = '' OR e.namespace = {namespace:String})
    AND ({node:String} = '' OR e.node = {node:String})
GROUP BY cause, resource, node, namespace, owner
ORDER BY pods DESC, first_at, node, namespace, owner
LIMIT 100000
