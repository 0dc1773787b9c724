-- The pressure conditions of each node at the end, and how often each began
SELECT
    node, condition, argMax(status, ts) AS under, max(ts) AS changed_at, argMax(updated_at, ts) AS seen_at,
    argMax(evidence = 'condition' AND NOT time_known, ts) AS or_earlier,
    countIf(status AND NOT kubelet_restart AND ts >= {since:DateTime64(6)}) AS times,
    minIf(ts, status AND NOT kubelet_restart AND ts >= {since:DateTime64(6)}) AS first_at
FROM pressure_changes
WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND {filters node}
GROUP BY node, condition
HAVING under OR times > 0
ORDER BY node, condition
