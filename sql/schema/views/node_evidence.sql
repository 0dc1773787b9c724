-- column ready: Ready, NotReady or Unknown, by the last version of the Node object; Unknown also where it lacks the condition
-- column seen_at: When the Node object was last seen to change
-- column last_sample_at: Its last statistics (/stats/summary); null if none was ever seen
-- column last_at: The last observation of anything in its cluster
-- column silent_seconds: From its last statistics to that observation; null if none was ever seen
CREATE OR REPLACE VIEW node_evidence AS
WITH
    lasts AS (
        SELECT cluster, max(last) AS last_at
        FROM (
            SELECT cluster, max(ts) AS last FROM nodes GROUP BY cluster
            UNION ALL SELECT cluster, max(last_at) AS last FROM (SELECT cluster, last_at FROM node_samples_5m SETTINGS final = 0) GROUP BY cluster
            UNION ALL SELECT cluster, max(observed_at) AS last FROM (SELECT cluster, observed_at FROM node_events SETTINGS final = 0) GROUP BY cluster
            UNION ALL SELECT cluster, max(ts) AS last FROM (SELECT cluster, ts FROM pod_bindings SETTINGS final = 0) GROUP BY cluster
        )
        GROUP BY cluster
    )
SELECT
    n.cluster AS cluster, n.node AS node, n.ready AS ready, n.seen_at AS seen_at,
    nullIf(s.last_sample_at, toDateTime64(0, 6, 'UTC')) AS last_sample_at,
    l.last_at AS last_at,
    dateDiff('second', last_sample_at, last_at) AS silent_seconds
FROM (
    SELECT
        cluster, node,
        argMax(replaceOne({ready_state}, 'Unsaid', 'Unknown'), ts) AS ready,
        max(ts) AS seen_at
    FROM nodes
    GROUP BY cluster, node
    HAVING NOT argMax(deleted, ts)
) AS n
LEFT JOIN (
    -- A maximum needs no merged rows
    SELECT cluster, node, last_at AS last_sample_at FROM last_samples
) AS s
    ON s.cluster = n.cluster AND s.node = n.node
LEFT JOIN lasts AS l ON l.cluster = n.cluster
COMMENT 'How old the evidence about each node is: what has no recent sample is not known to be well'
