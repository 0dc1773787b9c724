-- column signal: Eviction signal, for example memory.available
-- column last_at: The last sample of the node that has the signal
CREATE OR REPLACE VIEW last_signals AS
SELECT s.cluster AS cluster, s.node AS node, s.signal AS signal, s.at AS last_at
FROM (
    SELECT cluster, node, signal, max(last_at) AS at
    FROM (SELECT cluster, node, signal, last_at FROM eviction_signals_5m SETTINGS final = 0)
    GROUP BY cluster, node, signal
) AS s
LEFT JOIN {nodes_made} AS n ON n.cluster = s.cluster AND n.node = s.node
WHERE ifNull(s.at >= n.made_at, 1)
COMMENT 'When each eviction signal of a node was last sampled, from the roll-ups; without what an earlier node of its name left'
