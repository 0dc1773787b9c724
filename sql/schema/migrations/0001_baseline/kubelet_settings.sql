CREATE TABLE IF NOT EXISTS kubelet_settings
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    ts DateTime64(6, 'UTC') COMMENT 'When it was observed' CODEC(Delta, ZSTD(1)),
    node LowCardinality(String) COMMENT 'Name of the node',
    image_gc_high_percent Int64 COMMENT 'Disk usage in percent at which image GC begins; 100 switches it off' CODEC(T64, LZ4),
    image_gc_low_percent Int64 COMMENT 'Disk usage in percent down to which image GC frees' CODEC(T64, LZ4),
    image_minimum_gc_age_seconds Float64 COMMENT 'Age in seconds below which an unused image is kept',
    image_maximum_gc_age_seconds Float64 COMMENT 'Age in seconds above which an unused image is deleted; 0 is never',
    eviction_hard Map(String, String) COMMENT 'Hard eviction thresholds by signal, quantity or percent',
    eviction_soft Map(String, String) COMMENT 'Soft eviction thresholds by signal, quantity or percent',
    eviction_soft_grace_seconds Map(String, Float64) COMMENT 'Grace period of each soft threshold in seconds',
    eviction_minimum_reclaim Map(String, String) COMMENT 'Minimum reclaim by signal, quantity or percent',
    eviction_pressure_transition_seconds Float64 COMMENT 'How long a pressure condition outlives the pressure, in seconds',
    eviction_max_pod_grace_seconds Int64 COMMENT 'Longest grace in seconds that a soft eviction gives a pod' CODEC(T64, LZ4),
    cpu_manager_policy LowCardinality(String) COMMENT 'CPU manager policy: none or static',
    memory_manager_policy LowCardinality(String) COMMENT 'Memory manager policy: None or Static',
    topology_manager_policy LowCardinality(String) COMMENT 'Topology manager policy',
    topology_manager_scope LowCardinality(String) COMMENT 'Topology manager scope: container or pod',
    reserved_cpus LowCardinality(String) COMMENT 'Reserved system CPUs as a CPU list',
    system_reserved Map(String, String) COMMENT 'Reserved for the system by resource, quantity',
    kube_reserved Map(String, String) COMMENT 'Reserved for Kubernetes by resource, quantity',
    cpu_manager_policy_options Map(String, String) COMMENT 'Options of the CPU manager policy, for example full-pcpus-only',
    topology_manager_policy_options Map(String, String) COMMENT 'Options of the topology manager policy, for example prefer-closest-numa-nodes',
    enforce_node_allocatable Array(String) COMMENT 'Cgroups that are limited: pods, system-reserved, kube-reserved; empty if /configz has none',
    system_reserved_cgroup LowCardinality(String) COMMENT 'Cgroup of the system daemons; empty if none is set',
    kube_reserved_cgroup LowCardinality(String) COMMENT 'Cgroup of the kubelet and the container runtime; empty if none is set',
    cgroup_driver LowCardinality(String) COMMENT 'cgroupfs or systemd',
    max_pods Int64 COMMENT 'Pods that the node admits' CODEC(T64, LZ4),
    pod_pids_limit Nullable(Int64) COMMENT 'Process ids that a pod may use; null if there is no limit' CODEC(T64, LZ4),
    cpu_quota_enforced UInt8 DEFAULT 1 COMMENT '1 if CPU limits are enforced (cpuCFSQuota)',
    cpu_quota_period_seconds Float64 DEFAULT 0.1 COMMENT 'Period of a CPU quota in seconds',
    intended_by LowCardinality(String) COMMENT 'ConfigMap that they are from, if the kubelet did not answer: they are what kubeadm intends. Else empty'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (cluster, node, ts)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Settings of a kubelet as /configz gave them, defaults filled in'
