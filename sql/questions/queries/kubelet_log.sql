-- What kubelets wrote into their logs about evictions, image GC and admission
-- group What happened
-- shows ts, node, said, pod, message
-- newest
-- param cluster, node
-- param namespace String '': only about pods of this namespace; empty is all
-- param said String '': only lines of this kind, for example evicted; empty is all
-- param since, until
SELECT
    cluster, ts, node, said, resource, namespace, pod, pods, image, amount_bytes, message, time_known, earliest,
    latest
FROM kubelet_log FINAL
WHERE {filters cluster, node, namespace} AND ({said:String} = '' OR said = {said:String}) AND {filters ts}
ORDER BY ts, cluster, node, said, pod
