-- Which pods a kubelet refused, by its own words, and where the API shows room that the kubelet denies
-- group Pods
-- shows ts, node, pod, reason, explanation
-- needs pods or events
-- events OutOfcpu, OutOfmemory, OutOfpods, OutOfephemeral-storage, UnexpectedAdmissionError, TopologyAffinityError, SMTAlignmentError, NodeAffinity, TaintToleration, NodePorts, NodeShutdown
-- newest
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param namespace String '': only this namespace; empty is all
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
SELECT ts, cluster, node, namespace, pod, owner, reason, refused_by, resource, requested, available, api_allocatable, api_free, is_contradicted,
    explanation, message
FROM refused_pods
WHERE ({node:String} = '' OR node = {node:String})
    AND ({namespace:String} = '' OR namespace = {namespace:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
ORDER BY ts, cluster, node, namespace, pod
