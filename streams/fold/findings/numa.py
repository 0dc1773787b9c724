"""CPUs, memory and devices by NUMA node."""

from datetime import datetime
from typing import NamedTuple

from streams.fold.findings.row import row


@row(table="numa_allocations")
class NumaAllocation(NamedTuple):
    """Counts are None if the source does not report them."""

    cluster: str
    ts: datetime
    node: str
    numa_node: int
    """-1 if only the whole node's CPUs are known."""
    cpus: int | None
    """0 if the NUMA node has disappeared."""
    reserved_cpus: int | None
    exclusive_cpus: int | None
    free_cpus: int | None
    cores: int | None
    free_cores: int | None
    source: str
    fidelity: str
    producer: str
    witnesses: list[str]
    """The other sources that report the same number of exclusive CPUs."""
    assumed: list[str]
    """`single_numa_node`, `reserved_cpus`: what no source reports and was concluded."""
    cpuset: str
    free_cpuset: str
    core_cpusets: list[str]
    """CPU lists of its physical cores. These three are empty if the source has no CPU ids."""
    reserved_cpuset: str = ""
    core_sockets: list[int] = []  # noqa: RUF012  a NamedTuple's default; nobody mutates it
    """The package of each of `core_cpusets`. Both are empty if the source has no CPU ids."""


@row(table="numa_pods")
class NumaPod(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    namespace: str
    pod: str
    uid: str
    container: str
    """Empty if the source names only the pod."""
    cpus: int
    """0 if it let go of them."""
    cpuset: str
    """Empty if the source has only the number."""
    numa_nodes: list[int]
    """Empty if they are not known."""
    aligned: bool | None
    """All on one NUMA node; None if that is not known."""
    source: str
    fidelity: str


@row(table="numa_skew")
class NumaSkew(NamedTuple):
    """Numbers are None if the source does not report them."""

    cluster: str
    ts: datetime
    """The beginning of the minute that it sums up, for scope cluster."""
    scope: str
    node: str
    skew_ratio: float | None
    mean_absolute_deviation: float | None
    free_cpus: int | None
    largest_fit_cpus: int | None
    stranded_cpus: int | None
    exclusive_cpus: int | None
    allocatable_cpus: int | None
    spanning_pods: int
    """Pods with a container whose CPUs are on several NUMA nodes."""
    nodes: int
    """1, or for scope cluster the nodes whose numbers are known."""
    source: str
    fidelity: str
    assumed: list[str]
    explanation: str
    cpu_manager_policy: str = ""
    """These three by the source that knows best; empty for scope cluster, and where none reports them."""
    topology_manager_policy: str = ""
    topology_manager_scope: str = ""


@row(table="numa_whatif", version=("ts",))
class NumaWhatif(NamedTuple):
    cluster: str
    ts: datetime
    """When its pods or CPUs last changed; the version of this row."""
    scope: str
    node: str
    strategy: str
    skew_ratio: float
    mean_absolute_deviation: float
    free_cpus: int
    largest_fit_cpus: int
    stranded_cpus: int
    free_cores: int
    spanning_pods: int
    unplaced_pods: int
    pods: int


@row(table="numa_disagreements")
class NumaDisagreement(NamedTuple):
    cluster: str
    ts: datetime
    """When it began."""
    node: str
    numa_node: int
    """-1 if the whole node's exclusive CPUs are compared."""
    source_a: str
    """The one that is believed."""
    value_a: int
    source_b: str
    value_b: int
    explanation: str


@row(table="numa_resources")
class NumaResource(NamedTuple):
    """Memory and devices by NUMA node."""

    cluster: str
    ts: datetime
    node: str
    numa_node: int
    resource: str
    capacity: int
    allocatable: int
    available: int | None
    cells: list[int]
    """The group of NUMA nodes that a container spans in memory; empty if the source has none."""
    source: str


@row(table="numa_alignment")
class NumaAlignment(NamedTuple):
    """Resources of a container by NUMA node; a list is empty if it holds none, or if they are unknown."""

    cluster: str
    ts: datetime
    node: str
    namespace: str
    pod: str
    container: str
    cpu_numa_nodes: list[int]
    memory_numa_nodes: list[int]
    """NUMA nodes that the memory manager pins it to; empty if it pins nothing."""
    hugepages_numa_nodes: list[int]
    device_numa_nodes: list[int]
    devices: list[str]
    """Resources of devices that are on other NUMA nodes than its CPUs, or on no known one."""
    l3_caches: int | None
    """Number of level 3 caches that its CPUs share; None if the caches are not known."""
    aligned: bool | None
    """True if all of it is on one NUMA node; None if unknown."""
    distance: int | None
    """The farthest from its CPUs to what it holds (SLIT, 10 is local); None if that is not known."""
    explanation: str
    """Reason why that is not known; empty if it is."""


@row(table="numa_usage", high_rate=True)
class NumaUsage(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    numa_node: int
    memory_total_bytes: int
    memory_free_bytes: int
    hugepages_total_bytes: int
    hugepages_free_bytes: int
    cpu_busy_ratio: float | None
    """Since the sample before; None at the first."""


@row(table="numa_pod_memory", high_rate=True)
class NumaPodMemoryRow(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    uid: str
    numa_nodes: list[int]
    numa_bytes: list[int]
    """Anonymous memory and page cache on each of `numa_nodes`."""


@row(table="numa_admission_failures")
class NumaAdmissionFailure(NamedTuple):
    """A pod that the kubelet refused, and the node's NUMA state at that moment."""

    cluster: str
    ts: datetime
    node: str
    namespace: str
    pod: str
    uid: str
    reason: str
    message: str
    requested_cpus: int
    """Exclusive CPUs that it asked for."""
    free_cpus: int | None
    largest_fit_cpus: int | None
    topology_manager_policy: str
    source: str
    fidelity: str
    explanation: str


@row(table="late_joiners")
class LateJoiners(NamedTuple):
    cluster: str
    ts: datetime
    """The start of the minute that it sums up."""
    verdict: str
    """`late_joiners_emptier`, `even` or `inconclusive`."""
    rank_correlation: float | None
    gap_ratio: float | None
    nodes: int
    oldest_nodes: list[str]
    oldest_created_at: datetime | None
    oldest_ratio: float | None
    youngest_nodes: list[str]
    youngest_created_at: datetime | None
    youngest_ratio: float | None
    free_cpus: int
    largest_fit_cpus: int
    explanation: str
