-- rules: cgroup-values
-- column node: The node it is bound to
-- column ts: When its requests and limits were last seen
-- column cpu_shares: cpu.shares of cgroup v1 for its CPU request, 2 to 262144
-- column cpu_weight: cpu.weight of cgroup v2 that the kubelet sets for the pod, 1 to 10000
-- column runtime_cpu_weight: cpu.weight that newer runtimes (runc 1.3.2, crun 1.23) give for the same shares, 1 to 10000
-- column cpu_percent: Percent of the CPU time of the node's pods that it gets while each wants more, by cgroup v1 shares; it changes with the other pods
-- column cpu_quota_microseconds: CPU time in microseconds of each period that it may use; null if nothing limits it
-- column cpu_period_microseconds: Period of CPU quotas on its node in microseconds; 100000 where no /configz was seen
-- column cgroup: Path of its cgroup below the kubelet's cgroupRoot; null where no /configz names the driver, and for static pods, whose cgroups are named by a hash
-- column qos_cpu_shares: cpu.shares of the cgroup of all Burstable or BestEffort pods that it is in; null for Guaranteed pods, which are in none
CREATE OR REPLACE VIEW pod_cgroups AS
WITH
    living AS (
        SELECT
            b.cluster AS cluster, b.namespace AS namespace, b.pod AS pod, b.uid AS uid,
            argMax((b.ts, b.change, b.node, b.qos_class, b.cpu_request_millicores, b.cpu_limit_millicores, b.memory_limit_bytes, b.owner_kind),
                {latest_change}) AS latest
        FROM pod_bindings AS b FINAL
        GROUP BY b.cluster, b.namespace, b.pod, b.uid
        HAVING latest.2 IN ('bound', 'updated') AND latest.3 != ''
    ),
    shared AS (
        SELECT
            cluster, latest.1 AS ts, latest.3 AS node, namespace, pod, uid, latest.4 AS qos_class,
            latest.5 AS cpu_request_millicores, latest.8 AS owner_kind,
            if(qos_class = 'Guaranteed', '', lower(qos_class)) AS qos_group,
            qos_class = 'BestEffort' AS is_best_effort,
            if(is_best_effort, NULL, nullIf(latest.6, 0)) AS cpu_limit_millicores,
            if(is_best_effort, NULL, nullIf(latest.7, 0)) AS memory_limit_bytes,
            if(is_best_effort, 2, toInt64(greatest(2, least(262144, intDiv(toInt128(cpu_request_millicores) * 1024, 1000))))) AS cpu_shares,
            log2(cpu_shares) AS log_shares
        FROM living
    ),
    levels AS (
        SELECT
            *,
            sum(cpu_shares) OVER (PARTITION BY cluster, node, qos_class) AS level_shares,
            sumIf(cpu_shares, qos_class = 'Guaranteed') OVER each_node AS guaranteed_shares,
            toInt64(greatest(2, least(262144, intDiv(sumIf(toInt128(cpu_request_millicores), qos_class = 'Burstable') OVER each_node * 1024, 1000)))) AS burstable_shares,
            multiIf(qos_class = 'Guaranteed', guaranteed_shares, qos_class = 'Burstable', burstable_shares, 2) AS own_level,
            guaranteed_shares
                + if(countIf(qos_class = 'Burstable') OVER each_node > 0, burstable_shares, 0)
                + if(countIf(is_best_effort) OVER each_node > 0, 2, 0) AS all_levels
        FROM shared
        WINDOW each_node AS (PARTITION BY cluster, node)
    ),
    quotas AS (
        SELECT
            cluster, node,
            toNullable(argMax(cpu_quota_enforced, ts)) AS is_enforced,
            toNullable(toInt64(round(argMax(cpu_quota_period_seconds, ts) * 1e6))) AS period,
            argMax(cgroup_driver, ts) AS driver
        FROM kubelet_settings
        GROUP BY cluster, node
    )
SELECT
    cluster, ts, node, namespace, pod, uid, qos_class, cpu_request_millicores, cpu_shares,
    1 + intDiv((cpu_shares - 2) * 9999, 262142) AS cpu_weight,
    toInt64(multiIf(
        cpu_shares <= 2, 1,
        cpu_shares >= 262144, 10000,
        ceil(exp10((log_shares * log_shares + 125 * log_shares) / 612 - 7 / 34)))) AS runtime_cpu_weight,
    if(cpu_limit_millicores > 0 AND coalesce(is_enforced, 1), toInt64(greatest(1000, intDiv(toInt128(cpu_limit_millicores) * cpu_period_microseconds, 1000))), NULL) AS cpu_quota_microseconds,
    memory_limit_bytes,
    100. * cpu_shares / level_shares * own_level / all_levels AS cpu_percent,
    coalesce(period, 100000) AS cpu_period_microseconds,
    multiIf(
        owner_kind = 'Node' OR qos_class NOT IN ('Guaranteed', 'Burstable', 'BestEffort'), NULL,
        driver = 'systemd', concat(
            '/kubepods.slice/', if(qos_group = '', '', concat('kubepods-', qos_group, '.slice/')),
            'kubepods-', if(qos_group = '', '', concat(qos_group, '-')), 'pod', replaceAll(uid, '-', '_'), '.slice'),
        driver = 'cgroupfs', concat('/kubepods/', if(qos_group = '', '', concat(qos_group, '/')), 'pod', uid),
        NULL) AS cgroup,
    if(qos_class IN ('Burstable', 'BestEffort'), own_level, NULL) AS qos_cpu_shares
FROM levels
LEFT JOIN quotas USING (cluster, node)
COMMENT 'The cgroup values of each living pod: shares, its part of the CPU under contention, the kubelet''s weight for the pod, quota and its period, memory limit. Newer runtimes (runc 1.3.2, crun 1.23) give another weight for the same shares. Null if none is set'
