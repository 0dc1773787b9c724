-- What happened, in words and in the order of time
-- group What happened
-- shows ts, node, what
-- newest
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param namespace String '': of pods, only those of this namespace; empty is all
-- param since DateTime64(6) 1970-01-01T00:00:00Z: not before
-- param until DateTime64(6) 2262-01-01T00:00:00Z: before
SELECT ts, cluster, node, kind, what
FROM story
WHERE ({node:String} = '' OR node = {node:String})
    AND ({namespace:String} = '' OR empty(namespaces) OR has(namespaces, {namespace:String}))
    AND ({cluster:String} = '' OR cluster = {cluster:String})
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
ORDER BY ts, cluster, node, kind, what
