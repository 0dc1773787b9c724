-- What was concluded, in words, the last first
SELECT ts, node, kind, what, about, pod, namespaces
FROM story
WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND {filters node}
    AND ({namespace:String} = '' OR has(namespaces, {namespace:String}))
    AND (empty({kinds:Array(String)}) OR has({kinds:Array(String)}, kind))
ORDER BY ts DESC, node DESC, kind DESC, what DESC
LIMIT {limit:UInt32}
-- Planning the branches of the view takes longer than reading them: without steps that save nothing here
SETTINGS query_plan_merge_expressions = 0, query_plan_lift_up_union = 0, optimize_use_projections = 0
