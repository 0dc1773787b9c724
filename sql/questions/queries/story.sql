-- What was concluded, in words and in the order of time
-- group What happened
-- param node String '': only this node; empty is all
SELECT ts, cluster, node, kind, what
FROM story
WHERE {node:String} = '' OR node = {node:String}
ORDER BY ts, cluster, node, kind, what
