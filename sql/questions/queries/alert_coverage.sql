-- Which alerts cannot fire, or know less, because an input is missing
-- group Unknown
-- shows alertname, input, can_fire, nodes_without, without_it
-- param cluster
SELECT cluster, alertname, input, can_fire, nodes_without, nodes, without_it, first_nodes_without
FROM alert_coverage
WHERE nodes_without > 0 AND {filters cluster}
ORDER BY can_fire, cluster, alertname, input
