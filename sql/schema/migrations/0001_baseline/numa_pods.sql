CREATE TABLE IF NOT EXISTS numa_pods
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    namespace LowCardinality(String) COMMENT 'Namespace',
    pod String COMMENT 'Name of the pod',
    uid String COMMENT 'UID of the pod',
    container String COMMENT 'Name of the container; empty if the source reports only the pod',
    cpus Int64 COMMENT 'Exclusive CPUs; 0 if it let go of them' CODEC(T64, LZ4),
    cpuset String COMMENT 'CPU list; empty if the source reports only the number',
    numa_nodes Array(UInt16) COMMENT 'NUMA nodes that they are on; empty if they are unknown',
    aligned Nullable(UInt8) COMMENT '1 if all are on one NUMA node; null if that is unknown',
    source LowCardinality(String) COMMENT 'Source that is believed',
    fidelity LowCardinality(String) COMMENT 'exact, count or none',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, namespace, pod, uid, container, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Exclusive CPUs of each container'
