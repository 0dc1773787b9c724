-- Which living pods request nothing, use more than they request, or request much more than they ever used
-- group Pods
-- shows node, pod, resource, request, used, verdict
-- needs pods, samples
-- was over_request verdict=exceeded
-- was unused_requests verdict=unused
-- was without_requests verdict=none
-- param cluster, node, namespace
-- param verdict String '': only this verdict: none (requested), exceeded or unused; empty is all
-- param ratio Float64 2: unused means a memory request of at least this many times the highest use
SELECT
    cluster, node, namespace, pod, resource,
    toNullable(if(o.rank > 0, o.request, asked)) AS request,
    o.usage AS used,
    if(resource = 'memory', h.highest, NULL) AS highest,
    request - coalesce(highest, used) AS unused,
    arrayFilter(each -> each != '', [
        if(asked = 0 AND resource != 'ephemeral-storage', 'none', ''),
        if(o.exceeds_request, 'exceeded', ''),
        if(asked > 0 AND asked >= {ratio:Float64} * highest, 'unused', '')]) AS verdict,
    qos_class, owner_kind, owner_name
FROM (
    SELECT *, part.1 AS resource, part.2 AS asked, part.3 AS signal
    FROM (
        SELECT cluster, node, namespace, pod, uid, ts, change, cpu_request_millicores, memory_request_bytes, ephemeral_request_bytes, qos_class,
            owner_kind, owner_name
        FROM pod_bindings
        ORDER BY {latest_change} DESC
        LIMIT 1 BY cluster, namespace, pod, uid
    )
    ARRAY JOIN
    [
        ('cpu', cpu_request_millicores, ''),
        ('memory', memory_request_bytes, 'memory.available'),
        ('ephemeral-storage', ephemeral_request_bytes, 'nodefs.available')
    ] AS part
    WHERE change NOT IN ('finished', 'deleted')
) AS b
LEFT JOIN (
    SELECT cluster, node, namespace, pod, uid, signal, rank, request, usage, exceeds_request
    FROM eviction_order
    WHERE signal IN ('memory.available', 'nodefs.available')
) AS o USING (cluster, node, namespace, pod, uid, signal)
LEFT JOIN (
    SELECT cluster, uid, toNullable(max(memory_working_set_bytes_max)) AS highest
    FROM (SELECT cluster, uid, memory_working_set_bytes_max FROM pod_samples_5m SETTINGS final = 0) -- the highest of merged rows is that of all
    GROUP BY cluster, uid
) AS h USING (cluster, uid)
WHERE notEmpty(verdict) AND ({verdict:String} = '' OR has(verdict, {verdict:String}))
    AND {filters namespace, cluster, node}
ORDER BY has(verdict, 'exceeded') DESC, resource != 'memory', abs(unused) DESC NULLS LAST, cluster, node, namespace, pod, resource
