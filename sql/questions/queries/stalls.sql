-- Where work waits for CPU, memory or I/O (PSI), or swaps: nodes by five minutes, and pods now
-- group Nodes
-- needs samples, psi
-- shows ts, node, pod, memory_full_percent, io_full_percent, swap_usage_bytes
-- newest
-- was node_stalls rows=samples
-- was pod_stalls rows=pods
-- param cluster, node
-- param rows String '': nodes, samples (nodes, each sample) or pods; empty is nodes and pods
-- param percent Float64 1: at least this share of the time
-- param since, until
SELECT
    cluster, ts, node, namespace, pod, round(cpu_some, 1) AS cpu_some_percent,
    round(memory_some, 1) AS memory_some_percent, round(memory_full, 1) AS memory_full_percent,
    round(io_some, 1) AS io_some_percent, round(io_full, 1) AS io_full_percent, swap_usage_bytes,
    round(faults, 1) AS major_faults_per_second
FROM (
    SELECT
        cluster, ts, node, '' AS namespace, '' AS pod, cpu_psi_some_avg10_percent_max AS cpu_some,
        memory_psi_some_avg10_percent_max AS memory_some, memory_psi_full_avg10_percent_max AS memory_full,
        io_psi_some_avg10_percent_max AS io_some, io_psi_full_avg10_percent_max AS io_full, NULL AS swap_usage_bytes,
        NULL AS faults
    FROM node_history
    WHERE {rows:String} IN ('', 'nodes')
    UNION ALL
    SELECT cluster, ts, node, '', '', NULL, memory_some_percent, memory_full_percent, io_some_percent, io_full_percent, swap_usage_bytes, major_faults_per_second
    FROM node_stalls
    WHERE {rows:String} = 'samples'
    UNION ALL
    SELECT cluster, ts, node, namespace, pod, NULL, memory_some_percent, memory_full_percent, io_some_percent, io_full_percent, swap_usage_bytes, major_faults_per_second
    FROM pod_stalls
    WHERE {rows:String} IN ('', 'pods')
)
WHERE (greatest(coalesce(cpu_some, 0), coalesce(memory_some, 0), coalesce(io_some, 0)) >= {percent:Float64} OR swap_usage_bytes > 0)
    AND {filters cluster, node, ts}
ORDER BY ts, cluster, node, namespace, pod
