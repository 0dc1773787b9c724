-- column last_at: The last sample of the node
CREATE OR REPLACE VIEW last_samples AS
SELECT cluster, node, max(last_at) AS last_at
FROM (SELECT cluster, node, last_at FROM node_samples_5m SETTINGS final = 0)
GROUP BY cluster, node
COMMENT 'When each node was last sampled, from the roll-ups'
