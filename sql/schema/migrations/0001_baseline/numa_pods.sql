CREATE TABLE IF NOT EXISTS numa_pods
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    namespace LowCardinality(String) COMMENT 'Namespace',
    pod String COMMENT 'Name of the pod',
    uid String COMMENT 'UID of the pod',
    container String COMMENT 'Name of the container; empty where the source tells only of the pod',
    cpus Int64 COMMENT 'Exclusive CPUs; 0 where it let go of them' CODEC(T64, LZ4),
    cpuset String COMMENT 'CPU list; empty where the source tells only the number',
    numa_nodes Array(UInt16) COMMENT 'NUMA nodes that they lie on; empty where they are not known',
    aligned Nullable(UInt8) COMMENT '1 where all lie on one NUMA node; null where that is not known',
    source LowCardinality(String) COMMENT 'Source that is believed',
    fidelity LowCardinality(String) COMMENT 'exact, count or none',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, namespace, pod, uid, container, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Which exclusive CPUs each container holds'
