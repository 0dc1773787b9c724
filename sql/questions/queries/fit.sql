-- Requested against allocatable against used, for each node and resource
-- group Nodes
-- needs requests
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param resource String '': only this resource; empty is all
SELECT
    cluster,
    node,
    resource,
    capacity,
    allocatable,
    requested,
    used,
    free,
    round(requested / nullIf(allocatable, 0), 3) AS requested_ratio,
    round(used / nullIf(allocatable, 0), 3) AS used_ratio,
    pods
FROM node_fit_latest
WHERE ({resource:String} = '' OR resource = {resource:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY cluster, node, resource
