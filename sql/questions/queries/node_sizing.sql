-- What each node should reserve for the system, and where its hard thresholds should be, with the arithmetic
-- group Nodes
-- shows node, resource, verdict, reserved, advised_reserved, arithmetic
-- needs samples
-- param cluster, node
SELECT
    cluster, node, resource, verdict, reserved, advised_reserved, hard_threshold, advised_threshold, outside_pods, fastest_fall,
    round(measured_seconds / 3600, 1) AS measured_hours, arithmetic
FROM node_sizing
WHERE {filters node, cluster}
ORDER BY indexOf(['too_little', 'generous', 'enough', 'unknown'], verdict), cluster, node, resource
