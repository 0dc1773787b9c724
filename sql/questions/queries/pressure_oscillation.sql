-- Which nodes swing in and out of pressure, and which transition period would have kept them still
-- group Evictions and pressure
-- needs nodes
-- param changes UInt32 2: hours with at least so many changes
SELECT
    cluster,
    node,
    condition,
    ts AS hour,
    changes,
    pressure_seconds,
    longest_relief_seconds,
    transition_seconds,
    joining_transition_seconds,
    settings_assumed
FROM pressure_oscillation
WHERE changes >= {changes:UInt32}
ORDER BY hour, cluster, node, condition
