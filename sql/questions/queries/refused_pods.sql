-- Which pods a kubelet refused, by its own words, and where the API shows room that the kubelet denies
-- group Pods
-- needs pods or events
-- events OutOfcpu, OutOfmemory, OutOfpods, OutOfephemeral-storage, UnexpectedAdmissionError, TopologyAffinityError, SMTAlignmentError, NodeAffinity, TaintToleration, NodePorts, NodeShutdown
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param namespace String '': only this namespace; empty is all
SELECT ts, cluster, node, namespace, pod, owner, reason, refused_by, resource, requested, available, api_allocatable, api_free, is_contradicted,
    explanation, message
FROM refused_pods
WHERE ({node:String} = '' OR node = {node:String})
    AND ({namespace:String} = '' OR namespace = {namespace:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
ORDER BY cluster, ts, node, namespace, pod
