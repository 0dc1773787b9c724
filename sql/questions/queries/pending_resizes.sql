-- Which resizes of pods are deferred or infeasible, why, and which pods are in the way
-- group Pods
-- shows node, namespace, pod, state, message
-- needs pods
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT cluster, node, namespace, pod, state, ts AS since, more, must_go, message
FROM pending_resizes
WHERE ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY ts, cluster, node, namespace, pod
