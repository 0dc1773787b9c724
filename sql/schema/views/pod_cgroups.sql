-- rules: cgroup-values
-- column node: The node it is bound to
-- column ts: When its requests and limits were last seen
-- column cpu_shares: cpu.shares of cgroup v1 for its CPU request, 2 to 262144
-- column cpu_weight: cpu.weight of cgroup v2 that the kubelet sets for the pod, 1 to 10000
-- column runtime_cpu_weight: cpu.weight that newer runtimes (runc 1.3.2, crun 1.23) give for the same shares, 1 to 10000
-- column cpu_quota_microseconds: CPU time in microseconds of each 100000 that it may use; null if nothing limits it
CREATE OR REPLACE VIEW pod_cgroups AS
WITH
    living AS
    (
        SELECT
            b.cluster AS cluster,
            b.namespace AS namespace,
            b.pod AS pod,
            b.uid AS uid,
            argMax((b.ts, b.change, b.node, b.qos_class, b.cpu_request_millicores, b.cpu_limit_millicores, b.memory_limit_bytes),
                (b.ts, indexOf(['pending', 'bound', 'updated', 'finished', 'deleted'], b.change))) AS latest
        FROM pod_bindings AS b FINAL
        GROUP BY b.cluster, b.namespace, b.pod, b.uid
        HAVING latest.2 IN ('bound', 'updated') AND latest.3 != ''
    ),
    shared AS
    (
        SELECT
            cluster,
            latest.1 AS ts,
            latest.3 AS node,
            namespace,
            pod,
            uid,
            latest.4 AS qos_class,
            latest.5 AS cpu_request_millicores,
            qos_class = 'BestEffort' AS is_best_effort,
            if(is_best_effort, NULL, nullIf(latest.6, 0)) AS cpu_limit_millicores,
            if(is_best_effort, NULL, nullIf(latest.7, 0)) AS memory_limit_bytes,
            if(is_best_effort, 2, toInt64(greatest(2, least(262144, intDiv(toInt128(cpu_request_millicores) * 1024, 1000))))) AS cpu_shares,
            log2(cpu_shares) AS log_shares
        FROM living
    )
SELECT
    cluster,
    ts,
    node,
    namespace,
    pod,
    uid,
    qos_class,
    cpu_request_millicores,
    cpu_shares,
    1 + intDiv((cpu_shares - 2) * 9999, 262142) AS cpu_weight,
    toInt64(multiIf(
        cpu_shares <= 2, 1,
        cpu_shares >= 262144, 10000,
        ceil(exp10((log_shares * log_shares + 125 * log_shares) / 612 - 7 / 34)))) AS runtime_cpu_weight,
    if(cpu_limit_millicores > 0, toInt64(greatest(1000, intDiv(toInt128(cpu_limit_millicores) * 100000, 1000))), NULL) AS cpu_quota_microseconds,
    memory_limit_bytes
FROM shared
COMMENT 'The cgroup values of each living pod: shares, the kubelet''s weight for the pod, quota in each 100000 microseconds, memory limit. Newer runtimes (runc 1.3.2, crun 1.23) give another weight for the same shares. Null if none is set'
