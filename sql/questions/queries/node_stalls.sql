-- When work on a node stood still for memory or I/O, or swapped, sample by sample
-- group Nodes
-- needs samples, psi
-- newest
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param percent Float64 1: at least this share of the minute before
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
SELECT
    cluster, ts, node, round(memory_some_percent, 1) AS memory_some, round(memory_full_percent, 1) AS memory_full,
    round(io_some_percent, 1) AS io_some, round(io_full_percent, 1) AS io_full, swap_usage_bytes, round(major_faults_per_second) AS major_faults_per_second
FROM node_stalls
WHERE ({node:String} = '' OR node = {node:String})
    AND (greatest(coalesce(memory_some_percent, 0), coalesce(io_some_percent, 0)) >= {percent:Float64} OR swap_usage_bytes > 0)
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
ORDER BY ts, cluster, node
