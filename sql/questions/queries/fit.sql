-- Requested against allocatable against used, for each node and resource
-- group Nodes
-- needs requests
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
WHERE {resource:String} = '' OR resource = {resource:String}
ORDER BY cluster, node, resource
