-- column namespace: Namespace
-- column pod: Name of the pod
-- column uid: UID of the pod
-- column node: The node that is judged
-- column unknowns: Missing facts that would decide: how much the node can give; where its volumes can be attached; how many a node has; whether their driver has room; which nodes have the devices that it claims; which namespaces a selector means; whether the scheduler uses a resource that no node has
-- column scheduler_reasons: What the scheduler itself gave as reasons, and for how many nodes
-- column scheduled_at: When it gave them; null if no report of it was seen
-- column reasons: Why the scheduler refuses the node, in its words
-- column taints: Taints of the node that the pod does not tolerate, as key=value:effect
-- column exclusive_cpus: CPUs that the static CPU manager would pin for it
-- column free_cpus: Free exclusive CPUs
-- column largest_fit_cpus: Largest exclusive request that still fits one NUMA node
-- column topology_manager_policy: Topology manager policy; empty if no source reports it
-- column as_of: The newest observation of the cluster's nodes by which it was judged
-- column numa_source: Source of the NUMA numbers
-- column numa_fidelity: exact, count or none
CREATE OR REPLACE VIEW pending_fit AS
SELECT
    v.cluster AS cluster, p.namespace AS namespace, p.pod AS pod, p.uid AS uid, v.node AS node, v.fits AS fits,
    v.reasons AS reasons, v.unknowns AS unknowns, p.scheduler_reasons AS scheduler_reasons,
    p.scheduled_at AS scheduled_at, v.taints AS taints, v.numa_verdict AS numa_verdict,
    v.exclusive_cpus AS exclusive_cpus, v.free_cpus AS free_cpus, v.largest_fit_cpus AS largest_fit_cpus,
    v.topology_manager_policy AS topology_manager_policy, v.numa_source AS numa_source,
    v.numa_fidelity AS numa_fidelity, v.as_of AS as_of
FROM (
    SELECT
        cluster, kind, node, fits, reasons, unknowns, taints,
        CAST(numa_verdict, 'String') AS numa_verdict,
        exclusive_cpus, free_cpu AS free_cpus, largest_fit_cpu AS largest_fit_cpus,
        CAST(policy, 'String') AS topology_manager_policy,
        numa_source, numa_fidelity, as_of
    FROM pending_kinds
    ARRAY JOIN
        nodes AS node, free_cpus AS free_cpu, largest_fit_cpus AS largest_fit_cpu,
        topology_manager_policies AS policy, numa_sources AS numa_source, numa_fidelities AS numa_fidelity
    WHERE (cluster, calculated_at) IN (SELECT cluster, max(calculated_at) FROM pending_kinds GROUP BY cluster)
) AS v
INNER JOIN (
    SELECT cluster, kind, namespace, pod, uid, words AS scheduler_reasons, heard_at AS scheduled_at
    FROM pending_kinds
    ARRAY JOIN namespaces AS namespace, pods AS pod, uids AS uid, scheduler_reasons AS words, scheduled_at AS heard_at
    WHERE (cluster, calculated_at) IN (SELECT cluster, max(calculated_at) FROM pending_kinds GROUP BY cluster)
) AS p ON p.cluster = v.cluster AND p.kind = v.kind
COMMENT 'Fit of each pending pod on each node, by the rules of leadsman fit as of the newest observation. reasons are the scheduler''s, numa_verdict the kubelet''s for exclusive CPUs. taints are those that the pod does not tolerate. fits is null if Ready is unknown, if unknown NUMA numbers decide, or if unknowns is not empty'
