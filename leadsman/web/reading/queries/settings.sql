-- The settings of each kubelet of some nodes at the end
SELECT node, ts, image_gc_high_percent, image_gc_low_percent, eviction_pressure_transition_seconds, cpu_manager_policy, topology_manager_policy, reserved_cpus
FROM kubelet_settings
WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts < {until:DateTime64(6)}
ORDER BY ts DESC
LIMIT 1 BY node
