-- Every episode of image GC trouble, harmless ones too, in order
-- group Image GC
-- needs events
-- events FreeDiskSpaceFailed, ImageGCFailed, InvalidDiskCapacity
-- newest
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
SELECT
    cluster,
    node,
    ts,
    last_at,
    verdict,
    result,
    reason,
    occurrences,
    occurrences_lower_bound,
    usage_percent,
    high_percent,
    low_percent,
    wanted_bytes,
    freed_bytes,
    explanation
FROM image_gc
WHERE ({node:String} = '' OR node = {node:String})
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
ORDER BY ts, cluster, node, reason
