-- What a range rests on: how much was seen in it, and when anything and a sample were last seen up to its end
SELECT
    (
        -- A table has no capacity, and no condition but Ready
        SELECT (
            countIf(NOT last.1), countIf(NOT last.1 AND last.2), countIf(NOT last.1 AND last.3),
            nullIf(max(at), toDateTime64(0, 6, 'UTC'))
        )
        FROM (
            SELECT max(ts) AS at, argMax((deleted, empty(capacity) OR ifNull(toString(ready), ready_message) = '', ifNull(toString(ready), ready_message) = ''), ts) AS last
            FROM nodes
            WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
            GROUP BY node
        )
    ) AS nodes,
    (
        SELECT uniqExact(node)
        FROM node_samples_5m
        WHERE cluster = {cluster:String} AND last_at >= {since:DateTime64(6)} AND first_at < {until:DateTime64(6)} AND ts < {until:DateTime64(6)}
    ) AS sampled_nodes,
    (
        -- And those that their status calls evicted, in words of which no eviction was concluded
        SELECT
            (uniqExact(uid), uniqExactIf(uid, reason = 'Evicted' AND uid NOT IN
            (
                SELECT uid FROM evictions WHERE cluster = {cluster:String}
                UNION ALL SELECT uid FROM pod_ends WHERE cluster = {cluster:String} AND container = ''
            )))
        FROM pod_bindings
        WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND {filters namespace}
    ) AS pods,
    (
        SELECT uniqExact(namespace, name)
        FROM node_events
        WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND {filters namespace}
    ) AS events,
    (
        SELECT count()
        FROM kubelet_log FINAL
        WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}
    ) AS log_lines,
    (
        SELECT nullIf(max(ts), toDateTime64(0, 6, 'UTC')) FROM kubelet_log WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
    ) AS log_at,
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
        SELECT nullIf(max(ts), toDateTime64(0, 6, 'UTC')) FROM pod_bindings WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
    ) AS pods_at,
    (
        SELECT nullIf(max(observed_at), toDateTime64(0, 6, 'UTC')) FROM node_events WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)}
    ) AS events_at,
    (
        -- Of nodes whose last row has a source of exclusive CPUs, or a kubelet that gives none; and of all
        SELECT (nullIf(maxIf(at, is_known), toDateTime64(0, 6, 'UTC')), nullIf(max(at), toDateTime64(0, 6, 'UTC')))
        FROM (
            SELECT max(ts) AS at, argMax(fidelity != 'none' OR cpu_manager_policy = 'none' OR source = 'cpu_manager_state', ts) AS is_known
            FROM numa_skew
            WHERE cluster = {cluster:String} AND ts < {until:DateTime64(6)} AND scope = 'node'
            GROUP BY node
        )
    ) AS numa,
    (
        -- Of a span that goes on after the end, all is known up to the end; an error behind its last sign of life ended it
        SELECT groupArray((toString(resource), begun, heard_at))
        FROM (
            SELECT resource, max(since) AS begun, least(argMax(ts, since), {until:DateTime64(6)}) AS heard_at
            FROM watches
            WHERE cluster = {cluster:String} AND resource IN ('nodes', 'pods', 'events') AND since < {until:DateTime64(6)}
            GROUP BY resource
        ) AS w
        LEFT JOIN (
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
        -- By whose settings image GC never runs, or begins behind the eviction
        SELECT uniqExact(node)
        FROM (
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
