-- Pods that a kubelet refused at admission, by its own text, beside what the API showed as free (rules: admission-texts).
-- column owner: Its controlling owner, as ReplicaSet/name, or empty
-- column conditions: Conditions of the node that it was refused for, joined by commas; empty for another reason
-- column refused_by: Part of the kubelet that refused it; see pod_ends
-- column requested: How much of the resource the kubelet's text says was requested, in base units, cpu in millicores
-- column available: How much of it the kubelet counted as free then
-- column api_allocatable: How much of the resource the Node object offers; null if that is unknown
-- column api_free: Amount left after the requests of all pods that have not ended, at the first row of node_fit from the refusal on
-- column is_contradicted: 1 if the kubelet reports too little of the resource although by the API enough is free: the count of the kubelet is stale. 0 if not, or if no running pod of the node was seen, because the sum may then be incomplete
-- column message: What the kubelet wrote, without the words that it puts before in the status of a pod
CREATE OR REPLACE VIEW refused_pods AS
WITH refused AS (
    SELECT
        cluster, ts, time_known, node, namespace, pod, uid, reason, refused_by, requested, available, explanation, trimBoth(message) AS message,
        if(owner_name = '', '', concat(owner_kind, '/', owner_name)) AS owner,
        if(refused_by = 'node_pressure', '', toString(pod_ends.resource)) AS resource,
        if(refused_by = 'node_pressure', toString(pod_ends.resource), '') AS conditions
    FROM pod_ends FINAL
    WHERE cause = 'admission'
)
SELECT
    r.cluster AS cluster,
    r.ts AS ts,
    r.time_known AS time_known,
    r.node AS node,
    r.namespace AS namespace,
    r.pod AS pod,
    r.uid AS uid,
    r.owner AS owner,
    r.reason AS reason,
    r.conditions AS conditions,
    r.refused_by AS refused_by,
    r.resource AS resource,
    r.requested AS requested,
    r.available AS available,
    if(f.node = '', NULL, f.allocatable) AS api_allocatable,
    if(f.node = '', NULL, f.allocatable - f.requested) AS api_free,
    toUInt8(ifNull(r.refused_by IN ('resources', 'device_manager') AND r.available < r.requested AND api_free >= r.requested AND f.pods > 0, 0)) AS is_contradicted,
    r.explanation AS explanation, r.message AS message
FROM refused AS r
ASOF LEFT JOIN (
    SELECT cluster, node, resource, ts, allocatable, requested, pods
    FROM node_fit FINAL
    WHERE (cluster, node) IN (SELECT cluster, node FROM refused WHERE resource != '')
) AS f ON f.cluster = r.cluster AND f.node = r.node AND f.resource = r.resource AND r.ts <= f.ts
COMMENT 'Pods that a kubelet refused at admission, by its own text, beside what the API showed as free then'
