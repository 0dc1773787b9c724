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
    cpus: int | None
    reserved_cpus: int | None
    exclusive_cpus: int | None
    free_cpus: int | None
    cores: int | None
    free_cores: int | None
    source: str
    fidelity: str
    producer: str
    witnesses: list[str]
    assumed: list[str]
    cpuset: str
    free_cpuset: str
    core_cpusets: list[str]
    reserved_cpuset: str = ""
    core_sockets: list[int] = []  # noqa: RUF012  a NamedTuple's default; nobody mutates it


@row(table="numa_pods")
class NumaPod(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    namespace: str
    pod: str
    uid: str
    container: str
    cpus: int
    cpuset: str
    numa_nodes: list[int]
    aligned: bool | None
    source: str
    fidelity: str


@row(table="numa_skew")
class NumaSkew(NamedTuple):
    """Numbers are None if the source does not report them."""

    cluster: str
    ts: datetime
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
    nodes: int
    source: str
    fidelity: str
    assumed: list[str]
    explanation: str
    cpu_manager_policy: str = ""
    topology_manager_policy: str = ""
    topology_manager_scope: str = ""


@row(table="numa_whatif", version=("ts",))
class NumaWhatif(NamedTuple):
    cluster: str
    ts: datetime
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
    node: str
    numa_node: int
    source_a: str
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
    hugepages_numa_nodes: list[int]
    device_numa_nodes: list[int]
    devices: list[str]
    l3_caches: int | None
    aligned: bool | None
    distance: int | None
    explanation: str


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


@row(table="numa_pod_memory", high_rate=True)
class NumaPodMemoryRow(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    uid: str
    numa_nodes: list[int]
    numa_bytes: list[int]


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
    verdict: str
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
