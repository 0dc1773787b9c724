-- Who ended each pod or container and why, by which evidence, and what recreates it
-- group Pods
-- shows ts, pod, cause, node, message
-- needs pods or events
-- events Evicted, Preempted, Preempting, TaintManagerEviction, OutOfcpu, OutOfmemory, OutOfpods, OutOfephemeral-storage, UnexpectedAdmissionError, TopologyAffinityError, SMTAlignmentError, NodeAffinity, TaintToleration, NodePorts, NodeShutdown
-- newest
-- param cluster, node, namespace
-- param cause String '': only this cause, such as oom_kill or node_pressure; empty is all
-- param since, until
SELECT ts, cluster, node, namespace, pod, container, cause, actor, reason, exit_code, restarted, deleted, witness,
    owner_kind, owner_name, message, time_known, earliest, latest, restart_policy
FROM pod_ends
WHERE {filters node, namespace} AND ({cause:String} = '' OR cause = {cause:String}) AND {filters cluster, ts}
ORDER BY ts, cluster, node, namespace, pod, container
