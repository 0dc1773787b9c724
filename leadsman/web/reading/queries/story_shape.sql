-- How many of each kind were concluded, in equal buckets of the range
SELECT
    kind,
    toUInt32(intDiv(dateDiff('millisecond', {since:DateTime64(6)}, ts) * {buckets:UInt32}, greatest(1, dateDiff('millisecond', {since:DateTime64(6)}, {until:DateTime64(6)})))) AS bucket,
    count() AS times
FROM story
WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND {filters node}
    AND ({namespace:String} = '' OR has(namespaces, {namespace:String}))
GROUP BY kind, bucket
ORDER BY kind, bucket
-- Planning the branches of the view takes longer than reading them: without steps that save nothing here
SETTINGS query_plan_merge_expressions = 0, query_plan_lift_up_union = 0, optimize_use_projections = 0
