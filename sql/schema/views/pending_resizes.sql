-- column ts: Since when, with this message
-- column state: deferred, infeasible, pending or in_progress
-- column more: Increase over what it runs with, for each resource that grows, in base units; cpu in millicores
-- column must_go: For a deferred one, the amount by which requests on its node exceed allocatable, and which would have to leave; 0 if there is room now. Empty for others, and if the node''s requests are unknown
CREATE OR REPLACE VIEW pending_resizes AS
SELECT
    r.cluster AS cluster, r.ts AS ts, r.node AS node, r.namespace AS namespace, r.pod AS pod, r.uid AS uid,
    r.state AS state, r.message AS message,
    mapFilter((k, v) -> v > 0, mapApply((k, v) -> (k, v - r.running[k]), r.wanted)) AS more,
    if(r.state != 'deferred', mapFilter((k, v) -> 0, more),
        mapApply((k, v) -> (k, greatest(0, -f.free[k])), mapFilter((k, v) -> mapContains(f.free, k), more))) AS must_go
FROM (
    SELECT cluster, ts, node, namespace, pod, uid, state, message, wanted, running
    FROM resizes
    ORDER BY ts DESC
    LIMIT 1 BY cluster, node, uid
) AS r
LEFT JOIN (
    -- What a deferred resize wants is among the requests already, as for the scheduler
    SELECT cluster, node, CAST((groupArray(toString(resource)), groupArray(free)), 'Map(String, Int64)') AS free
    FROM node_fit_latest
    GROUP BY cluster, node
) AS f ON f.cluster = r.cluster AND f.node = r.node
WHERE r.state IN ('deferred', 'infeasible', 'pending', 'in_progress')
COMMENT 'Resizes of pods that are not done, why, and what would have to go'
