-- Every episode of image GC trouble, harmless ones too, in order
-- group Image GC
-- needs events
-- events FreeDiskSpaceFailed, ImageGCFailed, InvalidDiskCapacity
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
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
ORDER BY ts, cluster, node, reason
