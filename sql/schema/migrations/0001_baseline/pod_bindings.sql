CREATE TABLE IF NOT EXISTS pod_bindings
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    change LowCardinality(String) COMMENT 'pending, bound, updated, finished or deleted',
    node LowCardinality(String) COMMENT 'The node it is bound to, or empty while pending',
    namespace LowCardinality(String) COMMENT 'Namespace',
    pod String COMMENT 'Name of the pod',
    uid String COMMENT 'UID of the pod',
    qos_class LowCardinality(String) COMMENT 'QoS class: Guaranteed, Burstable or BestEffort; Unknown of a pod of pasted text that lacks its limits',
    priority Int64 COMMENT 'Priority of the pod' CODEC(T64, LZ4),
    critical UInt8 COMMENT '1 for a static or mirror pod, or a priority of at least 2000000000: never evicted under pressure',
    cpu_request_millicores Int64 COMMENT 'Effective CPU request in millicores' CODEC(T64, LZ4),
    cpu_limit_millicores Nullable(Int64) COMMENT 'Effective CPU limit in millicores; null if a container has none' CODEC(T64, LZ4),
    memory_request_bytes Int64 COMMENT 'Effective memory request in bytes' CODEC(T64, LZ4),
    memory_limit_bytes Nullable(Int64) COMMENT 'Effective memory limit in bytes; null if a container has none' CODEC(T64, LZ4),
    ephemeral_request_bytes Int64 COMMENT 'Effective ephemeral-storage request in bytes' CODEC(T64, LZ4),
    eviction_memory_request_bytes Int64 COMMENT 'Memory request in bytes that the eviction ranking compares with' CODEC(T64, LZ4),
    eviction_ephemeral_request_bytes Int64 COMMENT 'Ephemeral-storage request in bytes that the eviction ranking compares with' CODEC(T64, LZ4),
    exclusive_cpus Int64 COMMENT 'CPUs that the static CPU manager would pin for it' CODEC(T64, LZ4),
    requests Map(String, Int64) COMMENT 'Every effective request by resource, in base units; cpu in millicores',
    phase LowCardinality(String) COMMENT 'Phase of the pod',
    reason LowCardinality(String) COMMENT 'Reason in the status of the pod',
    owner_kind LowCardinality(String) COMMENT 'Kind of the controlling owner',
    owner_name String COMMENT 'Name of the controlling owner',
    created_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When the Pod object was created' CODEC(Delta, ZSTD(1)),
    tolerations Array(String) COMMENT 'Tolerations as key=value:effect, or key:effect for any value; an empty key or effect means every one',
    local_volumes Array(String) COMMENT 'Names of its volumes that the eviction ranking counts: hostPath, configMap, gitRepo, emptyDir on disk',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here',
    labels Map(LowCardinality(String), String) COMMENT 'Its labels',
    constraints String COMMENT 'Inputs of the scheduler besides requests and tolerations, as JSON: nodes, ports, affinity, anti_affinity, spread, gates, volumes, claimed, devices, claims. claimed has its volumes, their claims, and whether these are made for it. devices has its device claims, their objects, and whether these are made for it. claims has device claims without a known object. never_preempts is true for a pod with the preemptionPolicy Never. Empty if there are no inputs',
    deletion_asked_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When its deletion was asked for; null if it was not' CODEC(Delta, ZSTD(1)),
    waits_for String COMMENT 'Why it is Pending, by its own status: a text of the scheduler that names no nodes, or why a container cannot start; else empty',
    preferences String COMMENT 'Inputs of the scheduler''s scores, as JSON: nodes and neighbours (each with a weight, below 0 for those to be away from), spread, and added. added is what scores add to its requests, for containers without one. Empty if there are no inputs',
    started_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When its kubelet began with it; null if that was not seen by then' CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, ts, namespace, pod, uid, change)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Changes of pods: pending, bound, updated, finished, deleted'
