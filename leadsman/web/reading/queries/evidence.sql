-- What a range rests on: how much was seen in it, and when anything and a sample were last seen up to its end
SELECT
    (
        SELECT countIf(NOT gone)
        FROM (SELECT argMax(deleted, ts) AS gone FROM nodes WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} GROUP BY node)
    ) AS nodes,
    (
        SELECT uniqExact(node)
        FROM node_samples_5m
        WHERE cluster = {cluster:String} AND last_at >= {since:DateTime64(6)} AND first_at < {until:DateTime64(6)} AND ts < {until:DateTime64(6)}
    ) AS sampled_nodes,
    (
        SELECT uniqExact(uid)
        FROM pod_bindings
        WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND {asked namespace}
    ) AS pods,
    (
        SELECT uniqExact(namespace, name)
        FROM node_events
        WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND {asked namespace}
    ) AS events,
    (
        SELECT count()
        FROM kubelet_log FINAL
        WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
    ) AS log_lines,
    (
        SELECT count()
        FROM scheduling_attempts
        WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
    ) AS attempts,
    (
        -- Of five minutes that go on after the end, only the first sample is known
        SELECT nullIf(max(if(last_at < {until:DateTime64(6)}, last_at, first_at)), toDateTime64(0, 6, 'UTC'))
        FROM node_samples_5m
        WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND first_at < {until:DateTime64(6)}
    ) AS last_sample_at,
    (
        SELECT nullIf(max(last), toDateTime64(0, 6, 'UTC'))
        FROM
        (
            SELECT max(ts) AS last FROM nodes WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
            UNION ALL SELECT max(if(last_at < {until:DateTime64(6)}, last_at, first_at)) AS last FROM node_samples_5m WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND first_at < {until:DateTime64(6)}
            UNION ALL SELECT max(observed_at) AS last FROM node_events WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
            UNION ALL SELECT max(ts) AS last FROM pod_bindings WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
            UNION ALL SELECT max(ts) AS last FROM kubelet_log WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
            UNION ALL SELECT max(ts) AS last FROM numa_skew WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND scope = 'node'
        )
    ) AS last_at,
    (
        SELECT nullIf(max(ts), toDateTime64(0, 6, 'UTC')) FROM nodes WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
    ) AS nodes_at,
    (
        SELECT nullIf(max(ts), toDateTime64(0, 6, 'UTC')) FROM pod_bindings WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
    ) AS pods_at,
    (
        SELECT nullIf(max(least(observed_at, {until:DateTime64(6)})), toDateTime64(0, 6, 'UTC'))
        FROM node_events
        WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
    ) AS events_at,
    (
        -- Of nodes whose last row has a source of exclusive CPUs, or a kubelet that gives none
        SELECT nullIf(max(at), toDateTime64(0, 6, 'UTC'))
        FROM
        (
            SELECT max(ts) AS at, argMax(fidelity != 'none' OR cpu_manager_policy = 'none' OR source = 'cpu_manager_state', ts) AS is_known
            FROM numa_skew
            WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND scope = 'node'
            GROUP BY node
        )
        WHERE is_known
    ) AS numa_at,
    (
        -- Of a span that goes on after the end, all is known up to the end; an error behind its last sign of life ended it
        SELECT groupArray((toString(resource), begun, heard_at))
        FROM
        (
            SELECT resource, max(since) AS begun, least(argMax(ts, since), {until:DateTime64(6)}) AS heard_at
            FROM watches
            WHERE cluster = {cluster:String} AND resource IN ('nodes', 'pods', 'events') AND since < {until:DateTime64(6)}
            GROUP BY resource
        ) AS w
        LEFT JOIN
        (
            SELECT resource, max(ts) AS broken_at
            FROM source_errors
            WHERE cluster = {cluster:String} AND node = '' AND kind IN ('silent', 'gap', 'unreadable') AND ts < {until:DateTime64(6)}
            GROUP BY resource
        ) AS e ON e.resource = w.resource
        WHERE heard_at >= broken_at
    ) AS watched,
    (
        SELECT arraySort(groupUniqArray(toString(resource)))
        FROM source_errors
        WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
            AND node = '' AND kind IN ('silent', 'unreadable') AND resource IN ('nodes', 'pods', 'events')
    ) AS unread,
    (
        -- Pods that their status calls evicted, in words of which no eviction was concluded
        SELECT uniqExact(uid)
        FROM pod_bindings
        WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND reason = 'Evicted' AND {asked namespace}
            AND uid NOT IN
            (
                SELECT uid FROM evictions WHERE cluster = {cluster:String}
                UNION ALL SELECT uid FROM pod_ends WHERE cluster = {cluster:String} AND container = ''
            )
    ) AS unexplained,
    (
        -- By whose settings image GC never runs, or begins behind the eviction
        SELECT uniqExact(node)
        FROM
        (
            SELECT node, argMax(holds, ts) AS late
            FROM settings_warnings
            WHERE cluster = {cluster:String} AND rule = 'image_gc_late' AND ts < {until:DateTime64(6)}
            GROUP BY node, subject
        )
        WHERE late
    ) AS without_image_gc,
    (
        -- Of a record whose time could not be read the epoch is stored
        SELECT count()
        FROM dead_letters
        WHERE cluster IN ({cluster:String}, '') AND (ts = toDateTime64(0, 6, 'UTC') OR (ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}))
    ) AS bad
SETTINGS final = 0
