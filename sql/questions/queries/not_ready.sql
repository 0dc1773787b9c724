-- Which nodes are or were not Ready, since when, how old their Leases were, and whether pressure came before
-- group Nodes
-- shows node, state, since, until, message
-- needs nodes
-- events NodeNotReady
-- param cluster, node
SELECT cluster, node, state, since, until, before, message, last_sample_at, silent_seconds, lease_age_seconds
FROM not_ready
WHERE {filters node, cluster}
ORDER BY until IS NULL DESC, since DESC, cluster, node
