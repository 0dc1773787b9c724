CREATE TABLE IF NOT EXISTS nodes
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    uid String COMMENT 'UID of the Node object',
    created_at Nullable(DateTime64(6, 'UTC')) COMMENT 'When the Node object was created' CODEC(Delta, ZSTD(1)),
    kubelet_version LowCardinality(String) COMMENT 'Version of its kubelet, for example v1.36.3',
    zone_key LowCardinality(String) COMMENT 'Zone as the scheduler keys it: region, a separator and zone; empty without labels',
    unschedulable UInt8 COMMENT '1 if it is cordoned',
    deleted UInt8 COMMENT '1 if the Node object was deleted',
    ready Nullable(UInt8) COMMENT 'Condition Ready: 1, 0, or null if it is unknown or lacks',
    taints Array(String) COMMENT 'Taints as key=value:effect',
    capacity Map(String, Int64) COMMENT 'Capacity by resource, in base units; cpu in millicores',
    allocatable Map(String, Int64) COMMENT 'Allocatable by resource, in base units; cpu in millicores',
    ready_since Nullable(DateTime64(6, 'UTC')) COMMENT 'When the condition Ready last changed, by its own time',
    ready_message String COMMENT 'Why it is not ready, as first reported; empty if it is',
    pool LowCardinality(String) COMMENT 'Node pool that made it, by its labels; empty if none names one',
    labels Map(LowCardinality(String), String) COMMENT 'Its labels',
    problems Map(LowCardinality(String), String) COMMENT 'Reason and message of each condition that shows trouble, beside Ready and pressure: of node-problem-detector, clouds and network plugins',
    problems_since Map(LowCardinality(String), DateTime64(6, 'UTC')) COMMENT 'Since when, by the times of these conditions',
    cordoned_since Nullable(DateTime64(6, 'UTC')) COMMENT 'Since when it is cordoned, by its taint; null if it is not or the taint has no time' CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Each observed change of a node; the last row of a node is its current state'
