CREATE TABLE IF NOT EXISTS numa_allocations
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    numa_node Int64 COMMENT 'Number of the NUMA node; -1 if only the whole node is known' CODEC(T64, LZ4),
    cpus Nullable(Int64) COMMENT 'Online CPUs; 0 if the NUMA node has disappeared' CODEC(T64, LZ4),
    reserved_cpus Nullable(Int64) COMMENT 'CPUs that the kubelet reserves' CODEC(T64, LZ4),
    exclusive_cpus Nullable(Int64) COMMENT 'CPUs that containers hold exclusively, each counted once' CODEC(T64, LZ4),
    free_cpus Nullable(Int64) COMMENT 'CPUs minus reserved minus exclusive' CODEC(T64, LZ4),
    cores Nullable(Int64) COMMENT 'Physical cores' CODEC(T64, LZ4),
    free_cores Nullable(Int64) COMMENT 'Physical cores of which every hardware thread is free' CODEC(T64, LZ4),
    source LowCardinality(String) COMMENT 'Source that is believed',
    fidelity LowCardinality(String) COMMENT 'exact, count or none',
    producer LowCardinality(String) COMMENT 'Program that wrote the source',
    witnesses Array(String) COMMENT 'Other sources that report the same number of exclusive CPUs',
    assumed Array(String) COMMENT 'Facts that no source reports and Leadsman concluded: single_numa_node, reserved_cpus',
    cpuset String COMMENT 'CPU list of the NUMA node; empty if the source has no CPU ids',
    free_cpuset String COMMENT 'CPU list of what is free; empty if the source has no CPU ids',
    core_cpusets Array(String) COMMENT 'CPU list of each physical core; empty if the source has no CPU ids',
    reserved_cpuset String COMMENT 'CPU list of what the kubelet reserves; empty if the source has no CPU ids',
    core_sockets Array(Int64) COMMENT 'Socket of each of core_cpusets; empty if the source has no CPU ids',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, numa_node, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'How the CPUs of each NUMA node are allocated; null if the source does not report it'
