-- rules: numa-usage.
-- column cpu_numa_nodes: NUMA nodes of its exclusive CPUs
-- column near_bytes: Its memory in bytes on these
-- column far_bytes: Its memory in bytes on others; null if it is unknown where its CPUs lie
-- column far_ratio: Share of its memory that is on others, 0..1
CREATE OR REPLACE VIEW numa_remote_memory AS
WITH
    held AS (
        SELECT
            cluster, node, uid, any(namespace) AS namespace, any(pod) AS pod,
            groupUniqArrayArray(numa_nodes) AS cpu_numa_nodes,
            min(notEmpty(numa_nodes)) AS known
        FROM (
            SELECT cluster, node, namespace, pod, uid, container, cpus, numa_nodes
            FROM numa_pods FINAL
            ORDER BY ts DESC
            LIMIT 1 BY cluster, node, namespace, pod, uid, container
        )
        WHERE cpus > 0 AND uid != ''
        GROUP BY cluster, node, uid
    ),
    memory AS (
        SELECT cluster, node, uid, ts, numa_nodes, numa_bytes
        FROM numa_pod_memory FINAL
        ORDER BY ts DESC
        LIMIT 1 BY cluster, node, uid
    )
SELECT
    m.cluster AS cluster, m.ts AS ts, m.node AS node, h.namespace AS namespace, h.pod AS pod, m.uid AS uid,
    arraySort(h.cpu_numa_nodes) AS cpu_numa_nodes,
    if(h.known, arraySum(arrayMap((numa, bytes) -> if(has(h.cpu_numa_nodes, numa), bytes, 0), m.numa_nodes, m.numa_bytes)), NULL) AS near_bytes,
    if(h.known, arraySum(arrayMap((numa, bytes) -> if(has(h.cpu_numa_nodes, numa), 0, bytes), m.numa_nodes, m.numa_bytes)), NULL) AS far_bytes,
    far_bytes / nullIf(arraySum(m.numa_bytes), 0) AS far_ratio
FROM memory AS m
INNER JOIN held AS h ON h.cluster = m.cluster AND h.node = m.node AND h.uid = m.uid
COMMENT 'How much memory of each pod with exclusive CPUs is on other NUMA nodes than these, at its last sample'
