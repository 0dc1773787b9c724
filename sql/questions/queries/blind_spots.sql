-- Where a scheduler works with a wrong list of nodes, and the evidence for it
-- group Scheduling
-- shows ts, verdict, node, pod, evidence
-- needs nodes, pods
-- param cluster
-- param verdict String '': lost_node, stale_view, ghost_nodes or inconclusive; empty is all
SELECT cluster, ts, verdict, node, namespace, pod, evidence, test, scheduler_version
FROM scheduler_blind_spots
WHERE ({verdict:String} = '' OR verdict = {verdict:String})
    AND {filters cluster}
ORDER BY ts, cluster, test, namespace, pod, node
