-- Each node as it was last seen, and those that were deleted in the range; one that is asked for whenever it was
SELECT
    node,
    max(ts) AS seen_at,
    argMax((ready, unschedulable, deleted, kubelet_version, zone_key, pool, ready_message != '', created_at, empty(capacity)), ts) AS state
FROM nodes
WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND {filters node}
GROUP BY node
HAVING NOT state.3 OR seen_at >= {since:DateTime64(6)} OR {node:String} != ''
ORDER BY node
