CREATE TABLE IF NOT EXISTS pod_ends
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it ended, by the first witness' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    namespace LowCardinality(String) COMMENT 'Namespace',
    pod String COMMENT 'Name of the pod',
    uid String COMMENT 'UID of the pod',
    container LowCardinality(String) COMMENT 'Container that ended; empty for the pod itself',
    attempt Int64 COMMENT 'How often the container had been restarted before; 0 for the pod itself',
    cause LowCardinality(String) COMMENT 'node_pressure, own_limit, kubelet_eviction (Evicted, and nothing that was seen says why), admission, api_eviction, scheduler_preemption, kubelet_preemption, taint_manager, node_shutdown, pod_gc, node_lost, node_reboot, deadline, oom_kill, liveness, exited by itself, or deleted',
    actor LowCardinality(String) COMMENT 'Who did it, such as kubelet, kernel, eviction API, karpenter, descheduler, vpa-updater, job-controller or the name of the scheduler; empty if no witness shows it',
    reason LowCardinality(String) COMMENT 'Reason of the condition, status, Event or container state',
    message String COMMENT 'Message of the first witness, without what the kubelet puts before it in the status of a pod that it rejected',
    witness LowCardinality(String) COMMENT 'event, status, both of them, or log: only the kubelet''s log',
    exit_code Nullable(Int64) COMMENT 'Exit code of the container, or of one that failed in the pod; null if none is known',
    restarted UInt8 COMMENT '1 if the container was, or is being, started again',
    deleted UInt8 COMMENT '1 if the pod is gone since',
    owner_kind LowCardinality(String) COMMENT 'Kind of the controller that recreates the pod; empty if it has none or only an Event was seen',
    owner_name String COMMENT 'Name of that controller',
    updated_at DateTime64(6, 'UTC') COMMENT 'When the last witness was seen; the version of this row' CODEC(Delta, ZSTD(1)),
    time_known UInt8 DEFAULT 1 COMMENT '1 if a witness has the time; with 0, ts is one of the bounds',
    earliest Nullable(DateTime64(6, 'UTC')) COMMENT 'Not before then, where no witness has the time',
    latest Nullable(DateTime64(6, 'UTC')) COMMENT 'Not after then, where no witness has the time',
    restart_policy LowCardinality(String) COMMENT 'Restart policy of the pod; empty if only an Event was seen',
    refused_by LowCardinality(String) COMMENT 'What in the kubelet refused the pod at admission, by its text: resources, device_manager, cpu_manager, memory_manager, topology_manager, node_labels, node_name, taint, host_port, node_pressure, node_shutdown, system, security, feature, node_info; empty if the text does not say, and for other causes',
    resource LowCardinality(String) COMMENT 'Resource that it was refused over, or for node_pressure the conditions of the node, joined by commas; empty if the text names none',
    requested Nullable(Int64) COMMENT 'How much of it was requested, by the text of the kubelet, in base units, cpu in millicores; null if it has no number',
    available Nullable(Int64) COMMENT 'How much of it the kubelet counted as free then, in the same unit; null if its text has no number',
    explanation String COMMENT 'The text in words; empty if nothing is known beyond it',
    ending String COMMENT 'How it ended, in the words of the story; empty for what was evicted under pressure or for its own limit, and for what was deleted, unless a node was drained by that',
    version UInt64 MATERIALIZED toUnixTimestamp64Micro(updated_at) + (actor != '') * 4611686018427387904 + (cause != 'kubelet_eviction') * 2305843009213693952 + time_known * 1152921504606846976 COMMENT 'Priority among rows of one end: a row that names who did it counts, then one that says why, then one with a known time, then the last',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, node, uid, container, attempt)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'The cause of the end of each pod, or a container in it, by the first witness'
