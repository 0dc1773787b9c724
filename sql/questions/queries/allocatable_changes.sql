-- When the capacity or allocatable of a node changed
-- group Nodes
-- needs nodes
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
ORDER BY ts, cluster, node
