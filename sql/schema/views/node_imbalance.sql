-- column requested_ratio: Requested share of what is allocatable, 0..1
-- column mean_ratio: Mean ratio of all nodes that are Ready and take pods
-- column cause: Why it lies 0.2 or more above or below the mean: not_ready, cordoned, tainted, came_back, joined_later, was_there_before, took_over, affinity or unknown; empty if it does not
-- column since: Time of its cause; null if it is not an event
-- column share: Share of pods, 0..1, that supports the cause. For an emptier node, of all pods: they are older than the node, or may not go there. For a fuller node, of its own pods: they are older than the emptier nodes, came within an hour of the loss of another node, or may go nowhere else
-- column evidence: The same in words
CREATE OR REPLACE VIEW node_imbalance AS
WITH
    {meets} AS meets,
    machines AS (
        SELECT
            cluster, node, created_at, deleted, unschedulable, ready, ready_since, ts,
            mapConcat(CAST(labels, 'Map(String, String)'), map(':name', toString(node))) AS labels,
            arrayExists(taint -> NOT endsWith(taint, ':PreferNoSchedule'), taints) AS is_tainted
        FROM nodes FINAL
        ORDER BY ts DESC
        LIMIT 1 BY cluster, node
    ),
    downs AS (
        SELECT n.cluster AS cluster, n.node AS node, max(n.ts) AS down_at
        FROM nodes AS n FINAL
        INNER JOIN machines AS m ON m.cluster = n.cluster AND m.node = n.node
        WHERE ifNull(n.ready, 0) = 0 AND n.ts < m.ready_since AND (m.created_at IS NULL OR n.ts > m.created_at + INTERVAL 10 MINUTE)
        GROUP BY n.cluster, n.node
    ),
    losses AS (
        -- A node that never was Ready cannot be lost, and one that stays not Ready is lost once
        SELECT cluster, node, ts AS lost_at
        FROM (
            SELECT
                cluster, node, ts, deleted OR ifNull(ready, 0) = 0 AS is_lost,
                -- One that was there for a while when it was first seen may have been Ready, one that has just come was not
                lagInFrame(toUInt8(NOT deleted AND ifNull(ready, 0) = 1), 1, toUInt8(ifNull(ts > created_at + INTERVAL 10 MINUTE, 1))) OVER (
                    PARTITION BY cluster, node ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
                ) AS was_ready
            FROM nodes FINAL
        )
        WHERE is_lost AND was_ready
    ),
    pods AS (
        SELECT cluster, node, uid, created_at, choices, is_choosy
        FROM (
            SELECT
                cluster, node, uid, change, owner_kind, created_at,
                JSONHas(constraints, 'nodes') AS is_choosy,
                JSONExtract(constraints, 'nodes', 'Array(Array(Tuple(String, String, Array(String))))') AS choices
            FROM pod_bindings FINAL
            ORDER BY ts DESC
            LIMIT 1 BY cluster, namespace, pod, uid
        )
        WHERE change IN ('bound', 'updated') AND owner_kind NOT IN {not_placed}
    ),
    totals AS (SELECT cluster, count() AS pods FROM pods GROUP BY cluster),
    ages AS (
        SELECT cluster, created_at, max(older) AS older
        FROM (SELECT cluster, created_at, count() OVER (PARTITION BY cluster ORDER BY created_at) AS older FROM pods)
        WHERE created_at IS NOT NULL
        GROUP BY cluster, created_at
    ),
    kept AS (
        SELECT m.cluster AS cluster, m.node AS node, count() AS pods
        FROM machines AS m
        INNER JOIN (SELECT cluster, node, choices FROM pods WHERE is_choosy) AS p ON p.cluster = m.cluster
        WHERE p.node != m.node AND NOT m.deleted AND NOT arrayExists(term -> meets(m.labels, term), p.choices)
        GROUP BY m.cluster, m.node
    ),
    elsewhere AS (
        SELECT
            m.cluster AS cluster, m.node AS node,
            r.older / t.pods AS before_return,
            b.older / t.pods AS before_birth,
            k.pods / t.pods AS kept_away
        FROM (
            SELECT cluster, node, ifNull(ready_since, toDateTime64(0, 6, 'UTC')) AS back, ifNull(created_at, toDateTime64(0, 6, 'UTC')) AS born
            FROM machines
        ) AS m
        INNER JOIN totals AS t ON t.cluster = m.cluster
        ASOF LEFT JOIN (SELECT cluster, assumeNotNull(created_at) AS at, older FROM ages) AS r ON r.cluster = m.cluster AND r.at < m.back
        ASOF LEFT JOIN (SELECT cluster, assumeNotNull(created_at) AS at, older FROM ages) AS b ON b.cluster = m.cluster AND b.at < m.born
        LEFT JOIN kept AS k ON k.cluster = m.cluster AND k.node = m.node
    ),
    arrivals AS (
        SELECT cluster, node, avg(refuge) AS fled, maxIf(lost_at, refuge) AS lost_at
        FROM (
            SELECT
                p.cluster AS cluster, p.node AS node, p.uid AS uid,
                max(l.node != p.node AND l.lost_at <= p.created_at AND p.created_at < l.lost_at + INTERVAL 1 HOUR) AS refuge,
                maxIf(l.lost_at, l.node != p.node AND l.lost_at <= p.created_at) AS lost_at
            FROM pods AS p
            INNER JOIN losses AS l ON l.cluster = p.cluster
            GROUP BY p.cluster, p.node, p.uid
        )
        GROUP BY cluster, node
    ),
    bound_here AS (
        SELECT
            p.cluster AS cluster, p.node AS node, countIf(p.is_choosy AND c.others = 0) / count() AS stuck,
            groupArray(tuple(p.created_at)) AS births
        FROM pods AS p
        LEFT JOIN (
            SELECT
                o.cluster AS cluster, o.uid AS uid,
                countIf(m.node != o.node AND NOT m.deleted AND arrayExists(term -> meets(m.labels, term), o.choices)) AS others
            FROM (SELECT cluster, node, uid, choices FROM pods WHERE is_choosy) AS o
            INNER JOIN machines AS m ON m.cluster = o.cluster
            GROUP BY o.cluster, o.uid
        ) AS c ON c.cluster = p.cluster AND c.uid = p.uid
        GROUP BY p.cluster, p.node
    ),
    ratios AS (
        SELECT
            f.cluster AS cluster, f.node AS node, f.resource AS resource,
            f.requested / f.allocatable AS requested_ratio,
            avgIf(f.requested / f.allocatable, ifNull(m.ready, 0) = 1 AND NOT m.unschedulable AND NOT m.is_tainted)
                OVER (PARTITION BY f.cluster, f.resource) AS mean_ratio,
            m.ready AS ready, m.unschedulable AS unschedulable, m.is_tainted AS is_tainted,
            m.created_at AS created_at, m.ready_since AS ready_since
        FROM node_fit_latest AS f
        INNER JOIN machines AS m ON m.cluster = f.cluster AND m.node = f.node
        WHERE f.resource IN ('cpu', 'memory') AND f.allocatable > 0 AND NOT m.deleted
    ),
    judged AS (
        SELECT
            r.cluster AS cluster, r.node AS node, r.resource AS resource, r.requested_ratio AS requested_ratio,
            r.mean_ratio AS mean_ratio, r.created_at AS created_at, r.ready_since AS ready_since,
            e.before_return AS before_return, e.before_birth AS before_birth, e.kept_away AS kept_away,
            a.fled AS fled, a.lost_at AS lost_at, b.stuck AS stuck,
            -- The first of the nodes that stay emptier because they joined later
            minIf(r.created_at, r.requested_ratio <= r.mean_ratio - 0.2 AND e.before_birth >= 0.5 AND r.ready = 1 AND NOT r.unschedulable AND NOT r.is_tainted)
                OVER (PARTITION BY r.cluster, r.resource) AS others_came,
            arrayCount(birth -> ifNull(birth.1 < others_came, 0), b.births) / greatest(1, length(b.births)) AS older_than_others,
            multiIf(
                isNaN(r.mean_ratio) OR abs(r.requested_ratio - r.mean_ratio) < 0.2, '',
                r.requested_ratio < r.mean_ratio AND ifNull(r.ready, 0) = 0, 'not_ready',
                r.requested_ratio < r.mean_ratio AND r.unschedulable, 'cordoned',
                r.requested_ratio < r.mean_ratio AND r.is_tainted, 'tainted',
                r.requested_ratio < r.mean_ratio AND d.node != '' AND ifNull(e.before_return, 0) >= 0.5, 'came_back',
                r.requested_ratio < r.mean_ratio AND ifNull(e.before_birth, 0) >= 0.5, 'joined_later',
                r.requested_ratio < r.mean_ratio AND ifNull(e.kept_away, 0) >= 0.5, 'affinity',
                r.requested_ratio > r.mean_ratio AND ifNull(a.fled, 0) >= 0.33, 'took_over',
                r.requested_ratio > r.mean_ratio AND ifNull(b.stuck, 0) >= 0.5, 'affinity',
                r.requested_ratio > r.mean_ratio AND older_than_others >= 0.5, 'was_there_before',
                'unknown') AS cause
        FROM ratios AS r
        LEFT JOIN elsewhere AS e ON e.cluster = r.cluster AND e.node = r.node
        LEFT JOIN downs AS d ON d.cluster = r.cluster AND d.node = r.node
        LEFT JOIN arrivals AS a ON a.cluster = r.cluster AND a.node = r.node
        LEFT JOIN bound_here AS b ON b.cluster = r.cluster AND b.node = r.node
    )
SELECT
    cluster, node, resource, requested_ratio, mean_ratio, cause,
    multiIf(cause = 'came_back', ready_since, cause = 'joined_later', created_at, cause = 'took_over', lost_at, cause = 'was_there_before', others_came, NULL) AS since,
    multiIf(
        cause = 'came_back', before_return,
        cause = 'joined_later', before_birth,
        cause = 'took_over', fled,
        cause = 'was_there_before', older_than_others,
        cause = 'affinity' AND requested_ratio < mean_ratio, kept_away,
        cause = 'affinity', stuck,
        NULL) AS share,
    {imbalance} AS evidence
FROM judged
COMMENT 'Nodes of which far more or less is requested than of the others, and why: after a loss, a return, a late join, or by affinity'
