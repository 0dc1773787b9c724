-- Whose containers were OOM killed, and whose pods were rejected at admission for what, the most often first
SELECT
    cause,
    multiIf(cause = 'oom_kill', '', refused_by = 'node_pressure', pod_ends.resource, pod_ends.reason) AS reason,
    -- Errors that a kubelet did not expect have their own kinds: who refused the pod, and over what
    if(pod_ends.reason = 'UnexpectedAdmissionError', (toString(refused_by), toString(pod_ends.resource)), ('', '')) AS kind,
    node, namespace,
    multiIf(owner_name = '', ('Pod', pod), owner_kind = 'Node', ('StaticPod', pod), (toString(owner_kind), owner_name)) AS owner,
    container,
    count() AS times,
    uniqExact(uid) AS pods,
    min(if(time_known, ts, ifNull(earliest, ts))) AS first_at,
    max(if(time_known, ts, ifNull(latest, ts))) AS last_at,
    countIf(time_known) AS timed,
    countIf(NOT time_known AND earliest IS NULL) AS or_earlier
FROM pod_ends
WHERE cluster = {cluster:String} AND cause IN ('oom_kill', 'admission')
    AND ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)} AND {filters namespace, node}
GROUP BY cause, reason, kind, node, namespace, owner, container
ORDER BY times DESC, first_at, node, namespace, owner, container, kind
LIMIT 100000
