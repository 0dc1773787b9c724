-- Settings of kubelets that deserve a warning now: those of settings_warnings that hold, and signals without a threshold.
-- column ts: Since when; of a signal without a threshold, the last sample
-- column rule: What is wrong, in one word
-- column subject: Resource, signal, setting, condition or DaemonSet
-- column problem: What is wrong, with its numbers
-- column advice: What to set instead
CREATE OR REPLACE VIEW kubelet_warnings AS
SELECT cluster, ts, node, rule, subject, problem, advice
FROM (
    SELECT cluster, max(ts) AS ts, node, rule, subject, argMax(problem, s.ts) AS problem, argMax(advice, s.ts) AS advice
    FROM settings_warnings AS s
    GROUP BY cluster, node, rule, subject
    HAVING argMax(holds, s.ts)
    UNION ALL
    SELECT
        cluster, ts, node, 'unguarded_signal' AS rule, signal AS subject,
        {unguarded} AS problem, {guard} AS advice
    FROM unguarded_signals
)
WHERE (cluster, node) NOT IN (SELECT cluster, node FROM nodes GROUP BY cluster, node HAVING argMax(deleted, ts))
COMMENT 'Settings of kubelets that deserve a warning, as they are now'
