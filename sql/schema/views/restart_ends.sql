-- rules: exclusive-cpus. free_cpus is an upper bound of what the kubelet compares with: free CPUs on cores of which another
-- thread is reserved do not count for it.
-- column cpus: Exclusive CPUs of the container
-- column free_cpus: Free on the node
-- column verdict: ends (a restart of the kubelet ends the pod: SMTAlignmentError), or unknown (no source reports the options of its CPU Manager)
CREATE OR REPLACE VIEW restart_ends AS
WITH
    held AS (
        SELECT cluster, node, namespace, pod, uid, container, cpus
        FROM (
            SELECT cluster, node, namespace, pod, uid, container, cpus
            FROM numa_pods FINAL
            ORDER BY ts DESC
            LIMIT 1 BY cluster, node, namespace, pod, uid, container
        )
        WHERE cpus > 0 AND container != ''
    ),
    free AS (
        SELECT cluster, node, free_cpus, cpu_manager_policy
        FROM numa_skew FINAL
        WHERE scope = 'node'
        ORDER BY ts DESC
        LIMIT 1 BY cluster, node
    ),
    settings AS (
        SELECT
            cluster, node, 1 AS known,
            cpu_manager_policy = 'static' AND {whole_cores} AS whole
        FROM kubelet_settings FINAL
        ORDER BY ts DESC
        LIMIT 1 BY cluster, node
    ),
    living AS (SELECT cluster, node, deleted FROM nodes FINAL ORDER BY ts DESC LIMIT 1 BY cluster, node)
SELECT
    h.cluster AS cluster, h.node AS node, h.namespace AS namespace, h.pod AS pod, h.uid AS uid,
    h.container AS container, h.cpus AS cpus, f.free_cpus AS free_cpus,
    if(s.known, 'ends', 'unknown') AS verdict
FROM held AS h
INNER JOIN free AS f ON f.cluster = h.cluster AND f.node = h.node
INNER JOIN living AS n ON n.cluster = h.cluster AND n.node = h.node
LEFT JOIN settings AS s ON s.cluster = h.cluster AND s.node = h.node
WHERE NOT n.deleted AND f.free_cpus < h.cpus AND (s.whole OR (NOT s.known AND f.cpu_manager_policy IN ('', 'static')))
COMMENT 'Running pods that a restart of their kubelet ends: with full-pcpus-only it first asks whether their CPUs are free, though they hold them'
