-- What was concluded, in words and in the order of time
-- group What happened
-- param cluster String '': only this cluster; empty is all
-- param node String '': only this node; empty is all
-- param namespace String '': of pods, only those of this namespace; empty is all
SELECT ts, cluster, node, kind, what
FROM story
WHERE ({node:String} = '' OR node = {node:String})
    AND ({namespace:String} = '' OR empty(namespaces) OR has(namespaces, {namespace:String}))
    AND ({cluster:String} = '' OR cluster = {cluster:String})
ORDER BY ts, cluster, node, kind, what
