-- Which running pods were evicted, for what, and whether any pod explains it
-- group Evictions and pressure
-- needs pods or events
-- events Evicted
-- newest
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param namespace String '': only this namespace; empty is all
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
SELECT
    cluster,
    ts,
    node,
    namespace,
    pod,
    cause,
    resource,
    signal,
    threshold,
    available,
    predicted_rank,
    ranked_pods,
    pod_usage,
    round(pods_usage_ratio, 3) AS pods_usage_ratio,
    multiIf(
        pods_usage_ratio < 0.1, 'pods use almost none of it: check what lies or runs outside of pods',
        cause = 'pressure' AND resource = 'memory' AND position(message, ' was using ') = 0,
        'a bystander: within its request, or not measured yet',
        '') AS remark,
    evidence
FROM pod_evictions
WHERE cause != 'admission' AND ({namespace:String} = '' OR namespace = {namespace:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
ORDER BY ts, cluster, node, pod
