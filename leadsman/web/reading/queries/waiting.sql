-- Pods that were Pending at the end, those of one owner and one reason together, the most first
-- if SELECT 1 FROM pod_bindings WHERE cluster = {cluster:String} AND {is_waiting} LIMIT 1
SELECT namespace, owner, node, why, any(event) AS event, any(autoscaler) AS autoscaler, count() AS pods, min(since) AS first_since, argMin(or_earlier, since) AS or_earlier, any(pod) AS pod, arraySlice(groupArray(uid), 1, 1000) AS uids
FROM pod_waits
WHERE cluster = {cluster:String} AND since < {until:DateTime64(6)} AND (until IS NULL OR until >= {until:DateTime64(6)})
    -- A pod that was just created gets its scheduler's words in a moment where pods are watched
    AND (reason != '' OR since < {until:DateTime64(6)} - toIntervalMinute(1) OR {cluster:String} NOT IN (SELECT cluster FROM watches))
    AND {filters node, namespace}
    AND uid IN (
        -- Few, so that the view has few to sum up
        SELECT uid
        FROM (SELECT uid, ts, {is_waiting} AS waiting FROM pod_bindings WHERE cluster = {cluster:String})
        GROUP BY uid
        HAVING argMax(waiting, (ts, NOT waiting)) OR maxIf(ts, NOT waiting) >= {until:DateTime64(6)}
    )
GROUP BY namespace, owner, node, why
ORDER BY pods DESC, first_since, namespace, owner, node, why
LIMIT 100000
