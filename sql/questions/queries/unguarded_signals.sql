-- Which eviction signals no threshold guards, why, and what happens once they run out
-- group Evictions and pressure
-- shows node, signal, reason, consequence
-- needs samples, configz
-- param cluster, node
SELECT cluster, node, signal, available, capacity, round(100 * available / nullIf(capacity, 0), 1) AS available_percent, reason, consequence
FROM unguarded_signals
WHERE {filters node, cluster}
ORDER BY available_percent, cluster, node, signal
