-- Conditions of nodes, beside the kubelet's own, that show trouble at the end, those for longest first
SELECT node, condition, state.1[condition] AS said, ifNull(state.2[condition], state.3) AS since
FROM (
    SELECT node, argMax((problems, problems_since, ts, deleted), ts) AS state
    FROM nodes
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND {filters node}
    GROUP BY node
)
ARRAY JOIN mapKeys(state.1) AS condition
WHERE NOT state.4
ORDER BY since, condition, node
LIMIT 100000
