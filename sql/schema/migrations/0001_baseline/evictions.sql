CREATE TABLE IF NOT EXISTS evictions
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was, by the best witness' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    namespace LowCardinality(String) COMMENT 'Namespace',
    pod String COMMENT 'Name of the pod',
    uid String COMMENT 'UID of the pod',
    cause LowCardinality(String) COMMENT 'pressure, admission (rejected at the door), limit (its own limit), or unknown: only the word Evicted or a line of a log was seen, which do not say why',
    resource LowCardinality(String) COMMENT 'Resource that was low: memory, ephemeral-storage, inodes or pids; at admission the condition; empty if that is not known',
    signal LowCardinality(String) COMMENT 'Eviction signal; empty if neither a witness nor a sample has it',
    threshold Nullable(Int64) COMMENT 'Threshold in the message, in base units' CODEC(T64, LZ4),
    available Nullable(Int64) COMMENT 'Available in the message, in base units' CODEC(T64, LZ4),
    predicted_rank Nullable(Int64) COMMENT 'Rank that the eviction order gave it at the last sample before; 1 is first' CODEC(T64, LZ4),
    predicted_at Nullable(DateTime64(6, 'UTC')) COMMENT 'The sample that the rank was predicted from' CODEC(Delta, ZSTD(1)),
    ranked_pods Nullable(Int64) COMMENT 'How many pods were ranked then' CODEC(T64, LZ4),
    tied_pods Nullable(Int64) COMMENT 'Pods that the comparison of the kubelet cannot tell apart, this one counted: their ranks may be swapped' CODEC(T64, LZ4),
    pod_usage Nullable(Int64) COMMENT 'What the ranking compared of the pod at that sample, in base units' CODEC(T64, LZ4),
    pods_usage_ratio Nullable(Float64) COMMENT 'What all pods used together at that sample, of all that was used: near 0 means that no pod explains the pressure',
    evidence LowCardinality(String) COMMENT 'event, status, both of them, or log: only the kubelet''s log',
    message String COMMENT 'Message of the witness',
    updated_at DateTime64(6, 'UTC') COMMENT 'When the last witness was seen' CODEC(Delta, ZSTD(1)),
    found_late UInt8 COMMENT '1 if the first witness was seen minutes after the eviction: nobody watched then',
    time_known UInt8 DEFAULT 1 COMMENT '1 if a witness has the time; with 0, ts is one of the bounds',
    earliest Nullable(DateTime64(6, 'UTC')) COMMENT 'Not before then, where no witness has the time',
    latest Nullable(DateTime64(6, 'UTC')) COMMENT 'Not after then, where no witness has the time',
    threshold_kind LowCardinality(String) COMMENT 'hard (no grace for the pod) or soft (up to evictionMaxPodGracePeriod), of the threshold in the message; empty if that is not known',
    remark String COMMENT 'Advice for the search for the culprit, in words; empty if there is none',
    what String COMMENT 'The sentence of the story; empty for a rejection at admission',
    version UInt64 MATERIALIZED toUnixTimestamp64Micro(updated_at) + (cause != 'unknown') * 4611686018427387904 + time_known * 2305843009213693952 COMMENT 'Priority among rows of one eviction: a row with its cause counts, then one with a known time, then the last',
    landed_at DateTime MATERIALIZED now() COMMENT 'When it was stored; retention counts from here'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (cluster, node, uid, namespace, pod)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Pods that the kubelet evicted or rejected, from all witnesses'
