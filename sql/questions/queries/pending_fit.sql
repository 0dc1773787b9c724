-- Where each pending pod would fit now, and why it does not fit elsewhere
-- form pending_pods node
-- shows namespace, pod, node, fits, reasons, numa_verdict
-- needs nodes, pods
-- events FailedScheduling
-- param cluster
-- param pod String '': only this pod; empty is all
-- param namespace, node
SELECT
    cluster, namespace, pod, node, fits, reasons, unknowns, scheduler_reasons, taints, numa_verdict, exclusive_cpus,
    free_cpus, largest_fit_cpus, topology_manager_policy, numa_source, numa_fidelity
FROM pending_fit
WHERE ({pod:String} = '' OR pod = {pod:String})
    AND {filters namespace, node, cluster}
ORDER BY cluster, namespace, pod, fits DESC NULLS LAST, node
