-- Which nodes there are, and how each is now
-- group Nodes
-- needs nodes
SELECT
    cluster,
    node,
    ts AS seen_at,
    deleted,
    ready,
    ready_since,
    ready_message,
    unschedulable,
    kubelet_version,
    zone_key,
    taints,
    allocatable
FROM nodes
ORDER BY ts DESC
LIMIT 1 BY cluster, node
