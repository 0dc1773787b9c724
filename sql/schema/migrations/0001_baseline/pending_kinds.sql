CREATE TABLE IF NOT EXISTS pending_kinds
(
    cluster LowCardinality(String) COMMENT 'Name of the cluster',
    kind UInt32 COMMENT 'Pods that no rule tells apart are of one kind',
    outcome UInt32 COMMENT 'Nodes that take or refuse them alike; pods are in the row of outcome 0',
    as_of DateTime64(6, 'UTC') COMMENT 'The newest observation of the nodes that was judged by',
    calculated_at DateTime64(6, 'UTC') COMMENT 'When it was judged; earlier rows of a cluster do not count',
    namespaces Array(LowCardinality(String)) COMMENT 'Namespaces of the pods',
    pods Array(String) COMMENT 'Names of the pods',
    uids Array(String) COMMENT 'UIDs of the pods',
    scheduler_reasons Array(Map(String, UInt32)) COMMENT 'What the scheduler itself gave each of them as reasons, and for how many nodes',
    scheduled_at Array(Nullable(DateTime64(6, 'UTC'))) COMMENT 'When it gave them',
    exclusive_cpus Int64 COMMENT 'CPUs that the static CPU manager would pin for such a pod',
    nodes Array(LowCardinality(String)) COMMENT 'The nodes that are judged so',
    fits Nullable(UInt8) COMMENT '1 it fits, 0 it does not, null if that is unknown',
    reasons Array(String) COMMENT 'Why the scheduler refuses the nodes, in its words',
    unknowns Array(String) COMMENT 'What would have to be known',
    taints Array(String) COMMENT 'Taints of the nodes that such a pod does not tolerate, as key=value:effect',
    numa_verdict LowCardinality(String) COMMENT 'What the kubelet would do: admitted, not_exclusive, not_pinned, TopologyAffinityError, UnexpectedAdmissionError or unknown',
    free_cpus Array(Nullable(Int64)) COMMENT 'Free exclusive CPUs of each node',
    largest_fit_cpus Array(Nullable(Int64)) COMMENT 'Largest exclusive request that still fits one NUMA node, of each node',
    topology_manager_policies Array(LowCardinality(String)) COMMENT 'Topology manager policy of each node',
    numa_sources Array(LowCardinality(String)) COMMENT 'Source of the NUMA numbers of each node',
    numa_fidelities Array(LowCardinality(String)) COMMENT 'exact, count or none, of each node'
)
ENGINE = ReplacingMergeTree(calculated_at)
ORDER BY (cluster, kind, outcome)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Verdicts about pending pods, by kinds of pods and of nodes. They are calculated from the other tables, and not in a digest; pending_fit has each pod and node'
