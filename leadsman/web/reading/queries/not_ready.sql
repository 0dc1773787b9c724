-- Nodes that are not Ready, cordoned or drained at the end, those for longest first, and the Lease as it was looked at since
SELECT
    n.node AS node, state.1 AS ready, state.2 AS since, state.7 AS or_earlier, state.3 AS message, state.4 AS cordoned, state.5 AS taints,
    toUInt8(l.seen_at >= state.2) AS lease_seen, l.lease_age_seconds AS lease_age_seconds
FROM (
    SELECT node, argMax((ready, ifNull(ready_since, ts), ready_message, unschedulable, taints, deleted, ready_since IS NULL), ts) AS state
    FROM nodes
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND {filters node}
    GROUP BY node
) AS n
LEFT JOIN (
    SELECT node, max(ts) AS seen_at, argMax(tuple(age_seconds), ts).1 AS lease_age_seconds
    FROM node_leases
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND {filters node}
    GROUP BY node
) AS l ON l.node = n.node
WHERE NOT state.6
    AND (state.1 = 0 OR (state.1 IS NULL AND state.3 != '') OR state.4 OR arrayExists(taint -> splitByChar('=', splitByChar(':', taint)[1])[1] IN {drains:Array(String)}, state.5))
ORDER BY since, node
