"""Records: the small typed form of an observation, and the contract of the topics.

One record a message. `ts` is when it was observed (aware UTC); `kind` tells the type without decoding the rest.
"""

from datetime import datetime
from typing import Final, Literal, TypeAlias

import msgspec

from ingest.model.objects import Event, KubeletConfiguration, Node, Pod
from ingest.model.podresources import AllocatableResources, PodResources

ObjectChange: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]


class Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True, gc=False):
    """What every record has. `node` is empty for a record of the cluster's log."""

    ts: datetime
    cluster: str
    node: str = ""

    def folded(self) -> "Record":
        """The same as reducers see it."""
        return self


class NodeRecord(Record, frozen=True, tag="node"):
    change: ObjectChange
    object: Node


class PodRecord(Record, frozen=True, tag="pod"):
    """A pod; bound pods are on their node's log, pods without a node on the cluster's."""

    change: ObjectChange
    object: Pod


class PodPlacement(Record, frozen=True, tag="pod_placement"):
    """On the cluster's log for each record of a bound pod: what the scheduler's view of it needs.

    `node` is empty as for all of that log; `target` is the node.
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


class EventRecord(Record, frozen=True, tag="event"):
    """An Event; `node` is the node that it concerns, or empty (rules: event-fields)."""

    change: ObjectChange
    object: Event


class NodeSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What `/stats/summary` says of the node; None where it says nothing. The names are the columns'."""

    cpu_usage_nanocores: int | None = None
    cpu_usage_core_nanoseconds: int | None = None
    memory_available_bytes: int | None = None
    memory_usage_bytes: int | None = None
    memory_working_set_bytes: int | None = None
    memory_rss_bytes: int | None = None
    memory_page_faults: int | None = None
    memory_major_page_faults: int | None = None
    pods_memory_available_bytes: int | None = None
    """Of the system container `pods`: the allocatable view (rules: eviction-signals)."""
    pods_memory_working_set_bytes: int | None = None
    nodefs_available_bytes: int | None = None
    nodefs_capacity_bytes: int | None = None
    nodefs_used_bytes: int | None = None
    nodefs_inodes_free: int | None = None
    nodefs_inodes: int | None = None
    nodefs_inodes_used: int | None = None
    imagefs_available_bytes: int | None = None
    imagefs_capacity_bytes: int | None = None
    imagefs_used_bytes: int | None = None
    imagefs_inodes_free: int | None = None
    imagefs_inodes: int | None = None
    imagefs_inodes_used: int | None = None
    containerfs_available_bytes: int | None = None
    containerfs_capacity_bytes: int | None = None
    containerfs_used_bytes: int | None = None
    containerfs_inodes_free: int | None = None
    containerfs_inodes: int | None = None
    containerfs_inodes_used: int | None = None
    pids_max: int | None = None
    pids_current: int | None = None
    swap_available_bytes: int | None = None
    swap_usage_bytes: int | None = None
    cpu_psi_some_total_nanoseconds: int | None = None
    cpu_psi_some_avg10_percent: float | None = None
    cpu_psi_full_total_nanoseconds: int | None = None
    cpu_psi_full_avg10_percent: float | None = None
    memory_psi_some_total_nanoseconds: int | None = None
    memory_psi_some_avg10_percent: float | None = None
    memory_psi_full_total_nanoseconds: int | None = None
    memory_psi_full_avg10_percent: float | None = None
    io_psi_some_total_nanoseconds: int | None = None
    io_psi_some_avg10_percent: float | None = None
    io_psi_full_total_nanoseconds: int | None = None
    io_psi_full_avg10_percent: float | None = None


class PodColumns(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The pods of one sample by column: index i of every list is one pod. The names are the columns'.

    `ephemeral_*`, `rootfs_*`, `logs_*` and `volumes_*` are bytes or inodes as the eviction manager adds them up
    (rules: eviction-order). Which volumes it adds up only the pod's spec tells: `volumes_*` are as far as the summary
    does, and `volumes` has each of them as `name:bytes:inodes`, separated by commas.
    """

    namespace: list[str]
    pod: list[str]
    uid: list[str]
    cpu_usage_nanocores: list[int | None]
    cpu_usage_core_nanoseconds: list[int | None]
    memory_usage_bytes: list[int | None]
    memory_working_set_bytes: list[int | None]
    memory_rss_bytes: list[int | None]
    memory_page_faults: list[int | None]
    memory_major_page_faults: list[int | None]
    ephemeral_used_bytes: list[int | None]
    inodes_used: list[int | None]
    rootfs_used_bytes: list[int]
    rootfs_inodes_used: list[int]
    logs_used_bytes: list[int]
    logs_inodes_used: list[int]
    volumes_used_bytes: list[int]
    volumes_inodes_used: list[int]
    processes: list[int | None]
    swap_usage_bytes: list[int | None]
    cpu_psi_some_total_nanoseconds: list[int | None]
    cpu_psi_some_avg10_percent: list[float | None]
    cpu_psi_full_total_nanoseconds: list[int | None]
    cpu_psi_full_avg10_percent: list[float | None]
    memory_psi_some_total_nanoseconds: list[int | None]
    memory_psi_some_avg10_percent: list[float | None]
    memory_psi_full_total_nanoseconds: list[int | None]
    memory_psi_full_avg10_percent: list[float | None]
    io_psi_some_total_nanoseconds: list[int | None]
    io_psi_some_avg10_percent: list[float | None]
    io_psi_full_total_nanoseconds: list[int | None]
    io_psi_full_avg10_percent: list[float | None]
    volumes: list[str] = []


class SummaryRecord(Record, frozen=True, tag="summary"):
    """One `/stats/summary`: a node and its pods in one message."""

    sample: NodeSample
    pods: PodColumns

    def folded(self) -> "SampleRecord":
        pods = PodUsages(*[getattr(self.pods, name) for name in PodUsages.__struct_fields__])
        return SampleRecord(ts=self.ts, cluster=self.cluster, node=self.node, sample=self.sample, pods=pods)


class PodUsages(msgspec.Struct, frozen=True, gc=False):
    """Of the pods of one sample what an analytic reads: their names, and what evicts them in their order
    (rules: eviction-order).
    """

    namespace: list[str]
    pod: list[str]
    uid: list[str]
    memory_working_set_bytes: list[int | None]
    rootfs_used_bytes: list[int]
    rootfs_inodes_used: list[int]
    logs_used_bytes: list[int]
    logs_inodes_used: list[int]
    volumes_used_bytes: list[int]
    volumes_inodes_used: list[int]
    processes: list[int | None]
    volumes: list[str] = []


USAGES: Final = PodUsages.__struct_fields__[3:-1]
"""The columns of numbers among them."""


class SampleRecord(Record, frozen=True, tag="summary"):
    """What a reducer sees of a summary: the message of a SummaryRecord decodes to it."""

    sample: NodeSample
    pods: PodUsages


class SettingsRecord(Record, frozen=True, tag="settings"):
    """One `/configz`."""

    config: KubeletConfiguration


class Metric(msgspec.Struct, frozen=True, array_like=True, gc=False):
    name: str
    labels: dict[str, str]
    value: float


class MetricsRecord(Record, frozen=True, tag="metrics"):
    """The kubelet's metrics about NUMA, eviction and image GC (rules: kubelet-metrics); no other is kept."""

    metrics: list[Metric]


class CpuManagerRecord(Record, frozen=True, tag="cpu_manager_state"):
    """The kubelet's checkpoint as its JSON text; its checksum is checked by the rule (rules: cpu-checkpoint)."""

    checkpoint: str


class MemoryManagerRecord(Record, frozen=True, tag="memory_manager_state"):
    checkpoint: str


class Cpu(msgspec.Struct, frozen=True, gc=False):
    cpu: int
    core: int
    socket: int
    numa: int


class CpuTopologyRecord(Record, frozen=True, tag="cpu_topology"):
    cpus: list[Cpu]


class PodResourcesRecord(Record, frozen=True, tag="podresources"):
    """What the kubelet's podresources service says (rules: podresources)."""

    pods: tuple[PodResources, ...]
    allocatable: AllocatableResources | None = None


class NodeResourceTopologyRecord(Record, frozen=True, tag="noderesourcetopology"):
    """A NodeResourceTopology (v1alpha1, v1alpha2, or crane's) as JSON text, less its managed fields."""

    change: ObjectChange
    object: str


class NumaBin(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a NUMA node offers to exclusive CPUs: whole physical cores, and loose threads of cores partly reserved."""

    numa_node: int
    whole_cores: int
    loose_cpus: int
    threads_per_core: int


class NumaClaim(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The exclusive CPUs of a pod's containers, when it arrived, and the pod group that it belongs to."""

    arrived_at: datetime
    uid: str
    cpus: tuple[int, ...]
    group: str = ""


class NodeNumaRecord(Record, frozen=True, tag="node_numa"):
    """On the cluster's log whenever a node's NUMA numbers changed: what the analysis across nodes needs.

    `node` is empty as for all of that log; `target` is the node.
    """

    target: str
    gone: bool = False
    """The node was deleted; nothing else is told then."""
    created_at: datetime | None = None
    kubelet_version: str = ""
    control_plane: bool = False
    single_numa: bool = False
    """Its Topology Manager lets no container span NUMA nodes."""
    exclusive_cpus: int = 0
    allocatable_cpus: int = 0
    """CPUs that are not reserved."""
    free_cpus: int = 0
    largest_fit_cpus: int = 0
    spanning_pods: int = 0
    fidelity: str = "none"
    bins: tuple[NumaBin, ...] = ()
    claims: tuple[NumaClaim, ...] = ()


class SourceErrorRecord(Record, frozen=True, tag="source_error"):
    """A source could not be read."""

    resource: str
    error: str


class DeadLetterRecord(Record, frozen=True, tag="dead_letter"):
    """On the cluster's log for each dead letter whose time is known: what the alert about them needs."""

    error_type: str


_Record: TypeAlias = (
    NodeRecord
    | PodRecord
    | PodPlacement
    | EventRecord
    | SettingsRecord
    | MetricsRecord
    | CpuManagerRecord
    | MemoryManagerRecord
    | CpuTopologyRecord
    | PodResourcesRecord
    | NodeResourceTopologyRecord
    | NodeNumaRecord
    | SourceErrorRecord
    | DeadLetterRecord
)
PublishedRecord: TypeAlias = _Record | SummaryRecord
"""The contract of the topics."""
AnyRecord: TypeAlias = _Record | SampleRecord
"""What reducers see."""
