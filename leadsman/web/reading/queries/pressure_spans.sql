-- When each pressure condition of a node began and ended
SELECT condition, ts, status
FROM pressure_changes
WHERE cluster = {cluster:String} AND node = {node:String} AND ts < {until:DateTime64(6)}
    AND (NOT kubelet_restart OR lasted_seconds IS NOT NULL)
ORDER BY condition, ts
