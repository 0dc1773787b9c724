-- Who ended each pod or container, by which witness, and what recreates it
-- group Pods
-- shows ts, node, pod, cause, message
-- needs pods or events
-- events Evicted, Preempted, Preempting, TaintManagerEviction, OutOfcpu, OutOfmemory, OutOfpods, OutOfephemeral-storage, UnexpectedAdmissionError, TopologyAffinityError, SMTAlignmentError, NodeAffinity, TaintToleration, NodePorts, NodeShutdown
-- newest
-- param cluster, node, namespace
-- param cause String '': only this cause, as oom_kill or node_pressure; empty is all
-- param since, until
SELECT ts, cluster, node, namespace, pod, container, cause, actor, reason, exit_code, restarted, deleted, witness,
    owner_kind, owner_name, message, time_known, earliest, latest, restart_policy
FROM pod_ends
WHERE ({node:String} = '' OR node = {node:String})
    AND ({namespace:String} = '' OR namespace = {namespace:String})
    AND ({cause:String} = '' OR cause = {cause:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
ORDER BY ts, cluster, node, namespace, pod, container
