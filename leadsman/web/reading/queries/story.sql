-- What was concluded, in words, the last first
SELECT ts, node, kind, what
FROM story
WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
    AND ({node:String} = '' OR node = {node:String})
    AND ({kind:String} = '' OR kind = {kind:String})
ORDER BY ts DESC, node DESC, kind DESC, what DESC
LIMIT {limit:UInt32}
