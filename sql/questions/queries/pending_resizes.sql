-- Which resizes of pods are deferred or infeasible, why, and which pods are in the way
-- group Pods
-- shows node, namespace, pod, state, message
-- needs pods
-- param cluster, node
SELECT cluster, node, namespace, pod, state, ts AS since, more, must_go, message
FROM pending_resizes
WHERE {filters cluster, node}
ORDER BY ts, cluster, node, namespace, pod
