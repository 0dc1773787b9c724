CREATE OR REPLACE VIEW node_fit_latest AS
SELECT f.*
FROM node_fit AS f FINAL
WHERE (f.cluster, f.node, f.ts) IN (SELECT cluster, node, max(last_at) FROM node_fit_5m GROUP BY cluster, node SETTINGS final = 0)
    AND (f.cluster, f.node) NOT IN (SELECT cluster, node FROM nodes FINAL GROUP BY cluster, node HAVING argMax(deleted, ts) = 1)
COMMENT 'Capacity, requests and use of each resource of each node now, without deleted nodes'
