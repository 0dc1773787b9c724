-- Which running pods were evicted, for what, and whether any pod explains it
-- group Evictions and pressure
-- needs pods or events
-- events Evicted
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param namespace String '': only this namespace; empty is all
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
ORDER BY ts, cluster, node, pod
