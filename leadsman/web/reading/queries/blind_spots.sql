-- Where a scheduler works with a wrong list of nodes, the last first
SELECT ts, verdict, test, node, namespace, pod, evidence, scheduler_version
FROM scheduler_blind_spots
WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
    AND ({namespace:String} = '' OR namespace IN ('', {namespace:String}))
    AND {filters node}
ORDER BY verdict = 'inconclusive', ts DESC, test, namespace, pod, node
LIMIT 100
