-- Resizes of pods that are not done at the end, those that wait for longest first
SELECT r.state AS state, r.node AS node, r.namespace AS namespace, r.pod AS pod, r.ts AS since, r.message AS message
FROM (
    SELECT *
    FROM resizes FINAL
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND {filters namespace, node}
    ORDER BY ts DESC
    LIMIT 1 BY uid
) AS r
WHERE r.state IN ('deferred', 'infeasible')
ORDER BY since, node, namespace, pod
LIMIT 100000
