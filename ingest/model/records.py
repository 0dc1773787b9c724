"""Records: the small typed form of an observation, and the contract of the topics. Each message has one record.

`ts` is when it was observed (aware UTC). `kind` names the type without decoding the rest.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from ingest.model import machine
from ingest.model.numbers import Count, Int64
from ingest.model.objects.event import Event
from ingest.model.objects.node import KubeletConfiguration, Node
from ingest.model.objects.pod import Pod
from ingest.model.podresources import AllocatableResources, PodResources
from ingest.model.samples import NodeSample, PodColumns, PodUsages
from ingest.model.scheduler import Attempt, SchedulerQueue

Problem: TypeAlias = Literal["unreadable", "silent", "gap", "behind", "partial"]
ObjectChange: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]


class Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True, gc=False):
    """Fields of every record. `node` is empty for records of the cluster's log."""

    ts: datetime
    cluster: str
    node: str = ""

    @property
    def row_key(self) -> tuple[str, datetime, str]:
        """Return the columns with which most rows begin."""
        return self.cluster, self.ts, self.node

    def folded(self) -> "Record":
        """Return the form that reducers get."""
        return self


class NodeRecord(Record, frozen=True, tag="node"):
    change: ObjectChange
    object: Node
    reconciled: bool = False
    """True if its deletion was not seen, but a complete list lacks it. Only its identity is known."""


class KnownNodeRecord(Record, frozen=True, tag="known_node"):
    """Facts about a node that a dump implies from `ts` on: names, versions, labels, annotations and resources.

    The object has no conditions, taints or version, because it is not a complete Node of that time.
    """

    object: Node


class PodRecord(Record, frozen=True, tag="pod"):
    """A pod; bound pods are on their node's log, pods without a node on the cluster's."""

    change: ObjectChange
    object: Pod
    reconciled: bool = False
    """The same as in a NodeRecord."""


class NodeLeaseRecord(Record, frozen=True, tag="node_lease"):
    """A node's Lease of coordination.k8s.io."""

    renewed_at: datetime | None = None
    duration_seconds: Count | None = None


class ScheduledObjectRecord(Record, frozen=True, tag="scheduled_object"):
    """An object that the scheduler considers beside nodes and pods, as JSON of its kept fields."""

    resource: str
    change: ObjectChange
    name: str
    object: str
    namespace: str = ""
    uid: str = ""


class KnownPodRecord(Record, frozen=True, tag="known_pod"):
    """Facts about a pod that a dump implies from `ts` on: names, labels, owner, annotations and its spec.

    The object has no status but the time at which its kubelet began with it, and the QoS class.
    """

    object: Pod


class PodPlacement(Record, frozen=True, tag="pod_placement"):
    """The fields of a bound pod that the scheduler's view needs, once for each of its records; on the cluster's log.

    `node` is empty, as for all records of that log; `target` is the node.
    """

    change: ObjectChange
    target: str
    namespace: str
    pod: str
    uid: str
    phase: str
    created_at: datetime | None = None
    bound_at: datetime | None = None
    """Last transition of the condition PodScheduled."""
    owner_kind: str = ""
    ends: bool = False
    """True if it is being deleted or has ended."""


class PodActRecord(Record, frozen=True, tag="pod_act"):
    """A component announced at `at` that it ends the pod; on the log of the pod's node."""

    namespace: str
    pod: str
    uid: str
    cause: str
    actor: str
    reason: str
    """Reason and message of the Event."""
    message: str
    at: datetime


class EventRecord(Record, frozen=True, tag="event"):
    """An Event; `node` is the node that it concerns, or empty (rules: event-fields)."""

    change: ObjectChange
    object: Event
    line: machine.KubeletLine | None = None
    """The line of a kubelet's log instead of an Event.

    The object is empty if the line has no Event's content, or if an Event in the dump reports the same.
    """


class SummaryRecord(Record, frozen=True, tag="summary"):
    """One `/stats/summary`: a node and its pods in one message."""

    sample: NodeSample
    pods: PodColumns

    def folded(self) -> "SampleRecord":
        pods = PodUsages(*[getattr(self.pods, name) for name in PodUsages.__struct_fields__])
        return SampleRecord(ts=self.ts, cluster=self.cluster, node=self.node, sample=self.sample, pods=pods)


class SampleRecord(Record, frozen=True, tag="summary"):
    """A summary for reducers, which the message of a SummaryRecord decodes to."""

    sample: NodeSample
    pods: PodUsages


class SettingsRecord(Record, frozen=True, tag="settings"):
    """One `/configz`, or a kubelet's intended settings."""

    config: KubeletConfiguration
    intended_by: str = ""
    """Namespace and name of their ConfigMap, if no kubelet answered; otherwise empty."""


class MetricsRecord(Record, frozen=True, tag="metrics"):
    """The kubelet's metrics about NUMA, eviction and image GC (rules: kubelet-metrics); no other is kept."""

    metrics: list[machine.Metric]


class CpuManagerRecord(Record, frozen=True, tag="cpu_manager_state"):
    """The kubelet's checkpoint as its JSON text, because its checksum is verified by the rule
    (rules: cpu-checkpoint).
    """

    checkpoint: str


class MemoryManagerRecord(Record, frozen=True, tag="memory_manager_state"):
    checkpoint: str


class CpuTopologyRecord(Record, frozen=True, tag="cpu_topology"):
    cpus: list[machine.Cpu]
    distances: dict[Int64, dict[Int64, Int64]] = {}
    """Distance of each NUMA node to all (SLIT, 10 is local); empty if unknown."""
    caches: list[str] = []
    """CPU lists, one for each level 3 cache that CPUs share; empty if unknown."""


class NumaUsageRecord(Record, frozen=True, tag="numa_usage"):
    """Use of each NUMA node of a machine, and the NUMA nodes of its pods' memory."""

    nodes: list[machine.NumaNodeUsage]
    pods: list[machine.NumaPodMemory] = []


class MachineUsageRecord(Record, frozen=True, tag="machine_usage"):
    """Use of a machine that its kubelet does not report."""

    memory: machine.MachineMemory | None = None
    """None if its /proc was not read."""
    file_systems: list[machine.FileSystem] = []


class CpuThrottlingRecord(Record, frozen=True, tag="cpu_throttling"):
    """Throttling of a machine's pods by CPU quotas. A container without a period is left out."""

    pods: list[machine.PodThrottling]


class CgroupValuesRecord(Record, frozen=True, tag="cgroup_values"):
    cgroups: list[machine.CgroupValues]


class PodResourcesRecord(Record, frozen=True, tag="podresources"):
    """An answer of the kubelet's podresources service (rules: podresources)."""

    pods: tuple[PodResources, ...]
    allocatable: AllocatableResources | None = None


class NodeResourceTopologyRecord(Record, frozen=True, tag="noderesourcetopology"):
    """A NodeResourceTopology (v1alpha1, v1alpha2, or crane's) as JSON text, without its managed fields."""

    change: ObjectChange
    object: str


class NodeNumaRecord(Record, frozen=True, tag="node_numa"):
    """The facts for the analysis across nodes, at each change of a node's NUMA numbers; on the cluster's log.

    `node` is empty, as for all records of that log; `target` is the node.
    """

    target: str
    gone: bool = False
    """The node was deleted; the other fields are empty then."""
    created_at: datetime | None = None
    kubelet_version: str = ""
    control_plane: bool = False
    single_numa: bool = False
    """True if its Topology Manager lets no container span NUMA nodes."""
    exclusive_cpus: Int64 = 0
    allocatable_cpus: Int64 = 0
    """CPUs that are not reserved."""
    free_cpus: Int64 = 0
    largest_fit_cpus: Int64 = 0
    spanning_pods: Int64 = 0
    fidelity: str = "none"
    bins: tuple[machine.NumaBin, ...] = ()
    claims: tuple[machine.NumaClaim, ...] = ()


class SourceErrorRecord(Record, frozen=True, tag="source_error"):
    """A source could not be read, was silent, or may have missed something."""

    resource: str
    error: str
    """The reason, in words for people."""
    problem: Problem = "unreadable"
    since: datetime | None = None
    """Time since which changes may have been missed, if the watcher knows it."""
    silent_seconds: float | None = None
    """Time for which a source has been silent."""
    entries: Count | None = None
    """Number of entries that a state had no room for, if the problem is `partial`."""


class InventoryRecord(Record, frozen=True, tag="inventory"):
    """The content of a complete list for this log: everything else in the log no longer exists.

    `keys` are uids: of bound pods on their node's log, of pending pods on the cluster's. The cluster's log also has
    the names of all nodes, and (`of_logs`) of nodes with pods.
    """

    resource: str
    keys: tuple[str, ...] = ()
    after: str = ""
    """The page has only keys greater than this one"""
    until: str = ""
    """and not greater than this one, unless it is empty."""
    of_logs: bool = False

    def gone(self, known: Iterable[str]) -> list[str]:
        gone = set(known).difference(self.keys)
        return sorted(key for key in gone if key > self.after and (not self.until or key <= self.until))

    def nothing_left(self, node: str) -> "InventoryRecord":
        """Return the inventory for the log of a node that no longer has any such objects."""
        return InventoryRecord(ts=self.ts, cluster=self.cluster, node=node, resource=self.resource)


class HeartbeatRecord(Record, frozen=True, tag="heard"):
    """A heartbeat on the cluster's log, about once a minute for each watch and each agent: it was complete at `ts`.
    On the log of a node: the cluster's log has reached that time, which is not a time of the node's own log.
    """

    resource: str
    anew: bool = False
    """True if the watch began with a list: changes since its last bookmark may be missing."""
    since: datetime | None = None
    """Time of the list request if the watch began again. Changes during the list follow it."""
    target: str = ""
    """The node of an agent."""


class RejectionRecord(Record, frozen=True, tag="rejection"):
    """A witness that a kubelet rejected a pod for a reason that the scheduler does not see, for the alerts across
    nodes; on the cluster's log. An Event lacks the pod's owner. `node` is empty, as for all records of that log;
    `target` is the node.
    """

    target: str
    namespace: str
    uid: str
    reason: str
    message: str
    rejected_at: datetime
    """Time of the rejection by this witness."""
    owner_kind: str = ""
    owner_name: str = ""


class SchedulerCacheRecord(Record, frozen=True, tag="scheduler_cache"):
    """The content of a scheduler's cache; on the cluster's log."""

    nodes: Count
    names: tuple[str, ...] | None = None
    """Nodes that the cache knows, sorted; None if only their number is known."""
    missed: tuple[str, ...] = ()
    """Nodes that the scheduler's own comparison with its informer found missing."""
    scheduler: str = ""
    """`host:port` of the scheduler; empty for a file."""
    queues: tuple[SchedulerQueue, ...] = ()
    """Empty if unknown, or if the replica is not the leader, whose queues no pod leaves."""
    cut: bool = False
    """True if the dump was truncated before its queues, so the cache may have more nodes."""


class SchedulingAttemptRecord(Record, frozen=True, tag="scheduling_attempt"):
    """An attempt at `ts` to place a pod; on the cluster's log."""

    attempt: Attempt


class LogBeganRecord(Record, frozen=True, tag="log_began"):
    """The log of a node, which may not exist, had something to remember until `ts`; on the cluster's log."""

    target: str
    uid: str = ""
    """The node's UID, if its log started with the node or the node was recreated."""


class ForgetRecord(Record, frozen=True, tag="forget"):
    """Drops the state of a log, because its node has not existed for hours."""


class DeadLetterRecord(Record, frozen=True, tag="dead_letter"):
    """A dead letter with a known time, for the alert about them; on the cluster's log."""

    error_type: str


_Record: TypeAlias = (
    NodeRecord
    | KnownNodeRecord
    | NodeLeaseRecord
    | PodRecord
    | KnownPodRecord
    | PodPlacement
    | PodActRecord
    | EventRecord
    | SettingsRecord
    | MetricsRecord
    | CpuManagerRecord
    | MemoryManagerRecord
    | CpuTopologyRecord
    | NumaUsageRecord
    | MachineUsageRecord
    | CpuThrottlingRecord
    | CgroupValuesRecord
    | PodResourcesRecord
    | NodeResourceTopologyRecord
    | ScheduledObjectRecord
    | NodeNumaRecord
    | SourceErrorRecord
    | InventoryRecord
    | HeartbeatRecord
    | RejectionRecord
    | SchedulerCacheRecord
    | SchedulingAttemptRecord
    | LogBeganRecord
    | ForgetRecord
    | DeadLetterRecord
)
PublishedRecord: TypeAlias = _Record | SummaryRecord
"""The contract of the topics."""
AnyRecord: TypeAlias = _Record | SampleRecord
"""Records that reducers read."""
