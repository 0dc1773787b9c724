-- Nodes that are not Ready or are cordoned at the end, those for longest first
SELECT node, state.1 AS ready, state.2 AS since, state.3 AS message, state.4 AS cordoned, state.5 AS taints
FROM
(
    SELECT node, argMax((ready, ifNull(ready_since, ts), ready_message, unschedulable, taints, deleted), ts) AS state
    FROM nodes
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
        AND ({node:String} = '' OR node = {node:String})
    GROUP BY node
)
WHERE NOT state.6 AND (ifNull(state.1, 0) = 0 OR state.4)
ORDER BY since, node
