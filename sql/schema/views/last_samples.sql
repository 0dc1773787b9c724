-- column last_at: The last sample of the node
CREATE OR REPLACE VIEW last_samples AS
SELECT s.cluster AS cluster, s.node AS node, s.at AS last_at
FROM (
    SELECT cluster, node, max(last_at) AS at
    FROM (SELECT cluster, node, last_at FROM node_samples_5m SETTINGS final = 0)
    GROUP BY cluster, node
) AS s
LEFT JOIN {nodes_made} AS n ON n.cluster = s.cluster AND n.node = s.node
WHERE ifNull(s.at >= n.made_at, 1)
COMMENT 'When each node was last sampled, from the roll-ups; without what an earlier node of its name left'
