-- column signal: Eviction signal, for example memory.available
-- column last_at: The last sample of the node that has the signal
CREATE OR REPLACE VIEW last_signals AS
SELECT cluster, node, signal, max(last_at) AS last_at
FROM (SELECT cluster, node, signal, last_at FROM eviction_signals_5m SETTINGS final = 0)
GROUP BY cluster, node, signal
COMMENT 'When each eviction signal of a node was last sampled, from the roll-ups'
