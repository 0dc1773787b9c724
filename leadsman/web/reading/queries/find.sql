-- Nodes and pods up to the end of a range whose names hold every word, those of exactly that name first; or those of similar names
WITH least(ngramDistanceCaseInsensitiveUTF8(name, {whole:String}), ngramDistanceCaseInsensitiveUTF8(concat(namespace, '/', name), {whole:String})) AS distance
SELECT kind, namespace, name, node, gone
FROM (
    SELECT 'node' AS kind, '' AS namespace, node AS name, node, false AS gone
    FROM (
        SELECT node FROM nodes WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
        UNION DISTINCT
        SELECT node FROM node_samples WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
    )
    UNION ALL
    SELECT 'pod', namespace, pod, argMax(node, (ts, node)), argMax(change, {latest_change}) IN ('finished', 'deleted')
    FROM pod_bindings
    WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND ({namespace:String} = '' OR namespace = {namespace:String})
    GROUP BY namespace, pod
)
WHERE if({similar:UInt8}, distance < 0.5, arrayAll(word -> positionCaseInsensitiveUTF8(concat(namespace, '/', name), word) > 0, {words:Array(String)}))
ORDER BY if({similar:UInt8}, distance, 0), name = {whole:String} OR concat(namespace, '/', name) = {whole:String} DESC, kind, name, namespace
LIMIT {most:UInt32}
