-- What is not known for sure: how many of each, and of which nodes
SELECT
    (
        SELECT countIf(occurrences_lower_bound)
        FROM node_events
        WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
    ) AS lower_bounds,
    (
        SELECT count()
        FROM (
            SELECT namespace, name AS thing FROM node_events
            WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND position(message, '[withheld: ') > 0 AND {filters namespace}
            UNION DISTINCT
            SELECT namespace, uid AS thing FROM pod_ends
            WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND position(message, '[withheld: ') > 0 AND {filters namespace}
        )
    ) AS withheld,
    (
        SELECT uniqExact(node)
        FROM numa_allocations
        WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND fidelity != 'none'
    ) AS nodes_with_numa,
    (
        SELECT (countIf(earliest IS NULL), countIf(earliest IS NOT NULL))
        FROM kubelet_log FINAL
        WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND NOT time_known
    ) AS undated_lines
