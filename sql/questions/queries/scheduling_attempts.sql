-- Attempts to place pods by the scheduler's log: nodes checked against nodes known, and the scores of each node
-- form pending_pods attempt
-- needs attempts
-- shows ts, pod, node, score, refused_by, said
-- newest
-- param cluster
-- param pod String '': only this pod; empty is all
-- param namespace, node, since, until
SELECT
    cluster, ts, namespace, pod, node, bound, score, plugins, refused_by, evaluated_nodes, feasible_nodes,
    listed_nodes, nodes_known, said
FROM scheduling_attempts
WHERE ({pod:String} = '' OR pod = {pod:String})
    AND {filters cluster, namespace, node, ts}
ORDER BY ts, cluster, namespace, pod, score DESC, node
