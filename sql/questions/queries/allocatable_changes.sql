-- When the capacity or allocatable of a node changed, and of which resources
-- group Nodes
-- shows ts, node, allocatable_before, allocatable
-- needs nodes
-- newest
-- param cluster, node, since, until
SELECT
    cluster, ts, node,
    mapFilter((resource, amount) -> amount != now_before[resource], now) AS allocatable,
    mapFilter((resource, amount) -> amount != now[resource], now_before) AS allocatable_before,
    mapFilter((resource, amount) -> amount != has_before[resource], has) AS capacity,
    mapFilter((resource, amount) -> amount != has[resource], has_before) AS capacity_before
FROM (
    SELECT
        cluster, ts, node, mapSort(n.allocatable) AS now, mapSort(n.capacity) AS has, row_number() OVER w AS nth,
        lagInFrame(mapSort(n.allocatable)) OVER w AS now_before,
        lagInFrame(mapSort(n.capacity)) OVER w AS has_before
    FROM nodes AS n
    WINDOW w AS (PARTITION BY cluster, node ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE nth > 1 AND (toString(now) != toString(now_before) OR toString(has) != toString(has_before))
    AND {filters cluster, node, ts}
ORDER BY ts, cluster, node
