-- Where tasks wait for CPU, memory or I/O (PSI), by five minutes
-- group Nodes
-- needs samples, psi
-- newest
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param percent Float64 1: at least this share of 10 s lost
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
SELECT
    cluster,
    ts,
    node,
    cpu_psi_some_avg10_percent_max AS cpu_some_percent,
    memory_psi_some_avg10_percent_max AS memory_some_percent,
    memory_psi_full_avg10_percent_max AS memory_full_percent,
    io_psi_some_avg10_percent_max AS io_some_percent,
    io_psi_full_avg10_percent_max AS io_full_percent
FROM node_history
WHERE greatest(coalesce(cpu_some_percent, 0), coalesce(memory_some_percent, 0), coalesce(io_some_percent, 0)) >= {percent:Float64}
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
ORDER BY ts, cluster, node
