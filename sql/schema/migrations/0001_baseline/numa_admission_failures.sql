CREATE TABLE IF NOT EXISTS numa_admission_failures
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    namespace LowCardinality(String) COMMENT 'Namespace',
    pod String COMMENT 'Name of the pod',
    uid String COMMENT 'UID of the pod',
    reason LowCardinality(String) COMMENT 'TopologyAffinityError, SMTAlignmentError, UnexpectedAdmissionError or OutOf...',
    message String COMMENT 'Message of the kubelet',
    requested_cpus Int64 COMMENT 'Exclusive CPUs that it asked for' CODEC(T64, LZ4),
    free_cpus Nullable(Int64) COMMENT 'Free exclusive CPUs of the node then' CODEC(T64, LZ4),
    largest_fit_cpus Nullable(Int64) COMMENT 'Largest exclusive request that fitted one NUMA node then' CODEC(T64, LZ4),
    topology_manager_policy LowCardinality(String) COMMENT 'Topology manager policy of the node',
    source LowCardinality(String) COMMENT 'Source of the NUMA state',
    fidelity LowCardinality(String) COMMENT 'exact, count or none',
    explanation String COMMENT 'What it means, for a person',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
ORDER BY (cluster, node, namespace, pod, uid)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Pods that a kubelet refused for NUMA or CPUs, with the state of the node at that moment'
