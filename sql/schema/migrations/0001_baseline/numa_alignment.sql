CREATE TABLE IF NOT EXISTS numa_alignment
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was first seen to be so' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    namespace LowCardinality(String) COMMENT 'Namespace',
    pod String COMMENT 'Name of the pod',
    container LowCardinality(String) COMMENT 'Name of the container',
    cpu_numa_nodes Array(UInt16) COMMENT 'NUMA nodes of its exclusive CPUs; empty if it has none, where their NUMA nodes are unknown, and when it is gone',
    memory_numa_nodes Array(UInt16) COMMENT 'NUMA nodes that the memory manager pins its memory to; empty if it pins nothing',
    hugepages_numa_nodes Array(UInt16) COMMENT 'The same of huge pages',
    device_numa_nodes Array(UInt16) COMMENT 'NUMA nodes of its devices',
    devices Array(String) COMMENT 'Resources whose devices are on other NUMA nodes than its CPUs, or on no known one',
    l3_caches Nullable(Int64) COMMENT 'How many level 3 caches its CPUs share; null if the caches are unknown',
    aligned Nullable(UInt8) COMMENT '1 if all of it is on one NUMA node, 0 if it does not, null if that is unknown',
    distance Nullable(Int64) COMMENT 'The farthest from its CPUs to what it holds, by the firmware (SLIT: 10 is local); null if that is unknown',
    explanation String COMMENT 'Why it is unknown whether it is aligned; empty if it is',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, namespace, pod, container, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Alignment of the memory, huge pages, devices and level 3 caches of a container with its CPUs, by the kubelet\'s podresources service'
