-- At which usage image GC started and what it freed down to, each time that it was set
SELECT node, ts, image_gc_high_percent, image_gc_low_percent
FROM kubelet_settings
WHERE cluster = {cluster:String} AND node IN {nodes:Array(String)} AND ts < {until:DateTime64(6)}
ORDER BY node, ts
