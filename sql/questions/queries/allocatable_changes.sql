-- When the capacity or allocatable of a node changed
-- group Nodes
-- needs nodes
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
SELECT
    cluster,
    ts,
    node,
    allocatable,
    allocatable_before,
    capacity,
    capacity_before
FROM
(
    SELECT
        cluster,
        ts,
        node,
        mapSort(allocatable) AS allocatable,
        mapSort(capacity) AS capacity,
        row_number() OVER w AS nth,
        lagInFrame(mapSort(n.allocatable)) OVER w AS allocatable_before,
        lagInFrame(mapSort(n.capacity)) OVER w AS capacity_before
    FROM nodes AS n
    WINDOW w AS (PARTITION BY cluster, node ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE nth > 1 AND (toString(allocatable) != toString(allocatable_before) OR toString(capacity) != toString(capacity_before))
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ({node:String} = '' OR node = {node:String})
ORDER BY ts, cluster, node
