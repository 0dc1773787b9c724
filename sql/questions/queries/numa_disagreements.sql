-- Where two sources report different numbers of exclusive CPUs, and which is believed
-- group NUMA
-- needs numa
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT cluster, ts, node, numa_node, source_a, value_a, source_b, value_b, explanation
FROM numa_disagreements
WHERE ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY ts, cluster, node, numa_node
