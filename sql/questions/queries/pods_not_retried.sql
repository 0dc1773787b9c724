-- Pending pods that a node would take: does the scheduler try again?
-- group Scheduling
-- needs nodes, pods
-- events FailedScheduling
-- param cluster String '': only this cluster; empty is all
-- param namespace String '': only this namespace; empty is all
SELECT cluster, namespace, pod, verdict, tried_at, silent_seconds, nodes
FROM pods_not_retried
WHERE ({namespace:String} = '' OR namespace = {namespace:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
ORDER BY cluster, verdict, silent_seconds DESC, namespace, pod
