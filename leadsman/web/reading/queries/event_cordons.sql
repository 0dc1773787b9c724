-- Nodes that exist and whose last word is a cordon that only an Event shows, those for longest first
-- if SELECT 1 FROM node_events WHERE cluster = {cluster:String} AND reason = 'NodeNotSchedulable' LIMIT 1
SELECT node, max(ts) AS since
FROM event_cordons
WHERE NOT in_object AND cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND (until IS NULL OR until >= {until:DateTime64(6)})
    AND {filters node}
    AND node NOT IN (
        SELECT node FROM nodes
        WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND {filters node}
        GROUP BY node HAVING argMax(deleted, ts)
    )
GROUP BY node
ORDER BY since, node
