-- Which nodes swing in and out of pressure, and which transition period would have prevented it
-- form pressure_history hour
-- shows hour, node, condition, changes, joining_transition_seconds
-- needs nodes
-- param cluster, node
-- param changes UInt32 2: hours with at least this many changes
SELECT
    cluster, node, condition, ts AS hour, changes, pressure_seconds, longest_relief_seconds, transition_seconds,
    joining_transition_seconds, settings_assumed
FROM pressure_oscillation
WHERE changes >= {changes:UInt32} AND {filters cluster, node}
ORDER BY hour, cluster, node, condition
