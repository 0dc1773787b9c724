-- Which pods wait for CPU, and whether their limit, their own use or their neighbours hold them back
-- group Pods
-- shows node, pod, some_percent, throttled_percent, used_millicores, verdict
-- needs samples, pods, psi
-- param cluster, node
SELECT
    cluster, node, namespace, pod, verdict, round(some_percent, 1) AS some_percent, round(throttled_percent, 1) AS throttled_percent,
    round(used_millicores) AS used_millicores, request_millicores, limit_millicores, round(neighbours_over_millicores) AS neighbours_over_millicores, ts
FROM pod_cpu
WHERE ({node:String} = '' OR node = {node:String}) AND verdict != ''
    AND {filters cluster}
ORDER BY pod_cpu.some_percent DESC NULLS LAST, cluster, node, namespace, pod
