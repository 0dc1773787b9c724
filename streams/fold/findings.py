"""The row types of contract 2: one NamedTuple a table, its fields in the order and with the names of the columns.

All times are aware UTC. Units are in the names; where they are not, a resource's base unit holds: bytes, inodes,
processes, pods, and millicores for cpu. A row replaces an earlier one of the same natural key (`ORDER BY`); where
a finding grows while it is watched, `updated_at` tells its last version.
"""

from datetime import datetime
from typing import Final, NamedTuple, TypeAlias


class NodeRow(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    uid: str
    created_at: datetime | None
    kubelet_version: str
    zone_key: str
    unschedulable: bool
    deleted: bool
    ready: bool | None
    """None where the node has no Ready condition or it is Unknown."""
    taints: list[str]
    """`key=value:effect` each."""
    capacity: dict[str, int]
    allocatable: dict[str, int]


class NodeEvent(NamedTuple):
    cluster: str
    ts: datetime
    """When it last occurred, by the event's own times (F1)."""
    observed_at: datetime
    node: str
    namespace: str
    name: str
    object_kind: str
    object_name: str
    object_uid: str
    reason: str
    type: str
    message: str
    count: int  # type: ignore[assignment]  # contract 2 names the column so; tuple.count is not used
    occurrences: int
    occurrences_lower_bound: bool
    component: str


class PodBinding(NamedTuple):
    cluster: str
    ts: datetime
    change: str
    node: str
    namespace: str
    pod: str
    uid: str
    qos_class: str
    priority: int
    critical: bool
    """Static, mirror, or priority of at least 2,000,000,000: never evicted under pressure (C3)."""
    cpu_request_millicores: int
    cpu_limit_millicores: int | None
    """None where a container has no limit."""
    memory_request_bytes: int
    memory_limit_bytes: int | None
    ephemeral_request_bytes: int
    eviction_memory_request_bytes: int
    """What the ranking compares with: overhead only where the request is not zero (C4)."""
    eviction_ephemeral_request_bytes: int
    exclusive_cpus: int
    requests: dict[str, int]
    """Every requested resource, effective (D2)."""
    phase: str
    reason: str
    owner_kind: str
    owner_name: str
    created_at: datetime | None
    tolerations: list[str]
    """As key=value:effect, or key:effect for any value; an empty key or effect means every one."""


class KubeletSetting(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    image_gc_high_percent: int
    image_gc_low_percent: int
    image_minimum_gc_age_seconds: float
    image_maximum_gc_age_seconds: float
    eviction_hard: dict[str, str]
    eviction_soft: dict[str, str]
    eviction_soft_grace_seconds: dict[str, float]
    eviction_minimum_reclaim: dict[str, str]
    eviction_pressure_transition_seconds: float
    eviction_max_pod_grace_seconds: int
    cpu_manager_policy: str
    memory_manager_policy: str
    topology_manager_policy: str
    topology_manager_scope: str
    reserved_cpus: str
    system_reserved: dict[str, str]
    kube_reserved: dict[str, str]
    cpu_manager_policy_options: dict[str, str]
    topology_manager_policy_options: dict[str, str]


class DeadLetter(NamedTuple):
    cluster: str
    ts: datetime
    """The observation's; the epoch where it could not be read."""
    source: str
    position: str
    error_type: str
    reason: str
    payload: str
    """The first 64 KiB of what was received, as text."""


class SourceError(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    """The node that was asked; empty for the API server."""
    resource: str
    kind: str
    """silent, gap or unreadable."""
    silent_seconds: float | None
    error: str


class EvictionSignal(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    signal: str
    available: int
    capacity: int
    hard_threshold: int | None
    soft_threshold: int | None
    soft_grace_seconds: float | None
    hard_met: bool
    soft_met: bool
    slope_per_second: float | None
    """Of `available`; None where the samples do not support one."""
    seconds_to_soft: float | None
    seconds_to_hard: float | None
    gc_first: bool
    thresholds_assumed: bool
    """No `configz` was seen: the defaults of that kubelet version."""


class Eviction(NamedTuple):
    cluster: str
    ts: datetime
    """When the first witness saw it."""
    node: str
    namespace: str
    pod: str
    uid: str
    cause: str
    resource: str
    signal: str
    """Empty where no witness or sample tells it."""
    threshold: int | None
    available: int | None
    predicted_rank: int | None
    predicted_at: datetime | None
    """The sample that the rank was predicted from."""
    ranked_pods: int | None
    tied_pods: int | None
    """Pods that the kubelet's comparison cannot tell apart, this one counted: their ranks may be swapped."""
    pod_usage: int | None
    """What the ranking compared, at that sample."""
    pods_usage_ratio: float | None
    """What all pods used together, of all that was used: near 0 means that no pod explains the pressure."""
    evidence: str
    message: str
    updated_at: datetime


class PressureChange(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    condition: str
    status: bool
    lasted_seconds: float | None
    """Of the state that ended; None where its beginning was not seen."""
    kubelet_restart: bool
    evidence: str
    updated_at: datetime


class ImageGc(NamedTuple):
    cluster: str
    ts: datetime
    """The first occurrence of the episode."""
    node: str
    verdict: str
    result: str
    reason: str
    usage_percent: int | None
    high_percent: int
    low_percent: int
    wanted_bytes: int | None
    freed_bytes: int | None
    occurrences: int
    occurrences_lower_bound: bool
    last_at: datetime
    explanation: str
    settings_assumed: bool
    updated_at: datetime


class NodeFit(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    resource: str
    capacity: int
    allocatable: int
    requested: int
    used: int | None
    free: int
    """allocatable - requested; negative where the node is over-committed."""
    pods: int


class SchedulingFailure(NamedTuple):
    cluster: str
    ts: datetime
    """When this text was first seen on the pod; of an event, when it first occurred."""
    namespace: str
    pod: str
    uid: str
    nodes_total: int
    """The N of "0/N nodes": what the scheduler believes there is."""
    nodes_known: int
    """Nodes that had existed for over a minute."""
    reasons: dict[str, int]
    reason_sum: int
    prefilter: str
    post_filter: str
    preemption: str
    truncated: bool
    """The text was cut: counts are lower bounds."""
    pinned_node: str
    text_source: str


class SchedulerBlindSpot(NamedTuple):
    cluster: str
    ts: datetime
    """Of the text that shows it; for `placement` since when the node gets no pods."""
    verdict: str
    test: str
    """What showed it: `nodes_evaluated`, `nodes_total`, `placement` or `text`."""
    node: str
    namespace: str
    pod: str
    evidence: str
    scheduler_version: str


class NumaAllocation(NamedTuple):
    """Counts are None where the source does not tell them."""

    cluster: str
    ts: datetime
    node: str
    numa_node: int
    """-1 where only the whole node's CPUs are known."""
    cpus: int | None
    """0 where the NUMA node has disappeared."""
    reserved_cpus: int | None
    exclusive_cpus: int | None
    free_cpus: int | None
    cores: int | None
    free_cores: int | None
    source: str
    fidelity: str
    producer: str
    witnesses: list[str]
    """The other sources that tell the same number of exclusive CPUs."""
    assumed: list[str]
    """`single_numa_node`, `reserved_cpus`: what no source tells and was concluded."""
    cpuset: str
    free_cpuset: str
    core_cpusets: list[str]
    """CPU lists of its physical cores. These three are empty where the source has no CPU ids."""


class NumaPod(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    namespace: str
    pod: str
    uid: str
    container: str
    """Empty where the source tells only of the pod."""
    cpus: int
    """0 where it let go of them."""
    cpuset: str
    """Empty where the source tells only the number."""
    numa_nodes: list[int]
    """Empty where they are not known."""
    aligned: bool | None
    """All on one NUMA node; None where that is not known."""
    source: str
    fidelity: str


class NumaSkew(NamedTuple):
    """Numbers are None where the source does not tell them."""

    cluster: str
    ts: datetime
    """Of scope cluster: the begin of the minute that it sums up."""
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
    """Pods with a container whose CPUs lie on several NUMA nodes."""
    nodes: int
    """1, or for scope cluster the nodes whose numbers are known."""
    source: str
    fidelity: str
    assumed: list[str]
    explanation: str
    cpu_manager_policy: str = ""
    """These three by the source that knows best; empty for scope cluster, and where none tells."""
    topology_manager_policy: str = ""
    topology_manager_scope: str = ""


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


class NumaDisagreement(NamedTuple):
    cluster: str
    ts: datetime
    """When it began."""
    node: str
    numa_node: int
    """-1 where the whole node's exclusive CPUs are compared."""
    source_a: str
    """The one that is believed."""
    value_a: int
    source_b: str
    value_b: int
    explanation: str


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
    """The group of NUMA nodes that a container spans in memory; empty where the source has none."""
    source: str


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


class LateJoiners(NamedTuple):
    cluster: str
    ts: datetime
    """The begin of the minute that it sums up."""
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


class Alert(NamedTuple):
    """That an alert fired, or that it was resolved: a row each."""

    cluster: str
    ts: datetime
    """`starts_at` of a row that says firing, `ends_at` of one that says resolved."""
    fingerprint: str
    alertname: str
    severity: str
    status: str
    starts_at: datetime
    """When it fired."""
    ends_at: datetime | None
    """When it was resolved; None while it fires."""
    labels: dict[str, str]
    """Its identity."""
    annotations: dict[str, str]
    """`summary`, `description` and `runbook_url`."""
    node: str
    """Empty where it is about the cluster."""
    updated_at: datetime


Row: TypeAlias = (
    NodeRow
    | NodeEvent
    | PodBinding
    | KubeletSetting
    | DeadLetter
    | SourceError
    | EvictionSignal
    | Eviction
    | PressureChange
    | ImageGc
    | NodeFit
    | SchedulingFailure
    | SchedulerBlindSpot
    | NumaAllocation
    | NumaPod
    | NumaSkew
    | NumaWhatif
    | NumaDisagreement
    | NumaResource
    | NumaAdmissionFailure
    | LateJoiners
    | Alert
)

TABLES: Final[dict[type[Row], str]] = {
    NodeRow: "nodes",
    NodeEvent: "node_events",
    PodBinding: "pod_bindings",
    KubeletSetting: "kubelet_settings",
    DeadLetter: "dead_letters",
    SourceError: "source_errors",
    EvictionSignal: "eviction_signals",
    Eviction: "evictions",
    PressureChange: "pressure_changes",
    ImageGc: "image_gc",
    NodeFit: "node_fit",
    SchedulingFailure: "scheduling_failures",
    SchedulerBlindSpot: "scheduler_blind_spots",
    NumaAllocation: "numa_allocations",
    NumaPod: "numa_pods",
    NumaSkew: "numa_skew",
    NumaWhatif: "numa_whatif",
    NumaDisagreement: "numa_disagreements",
    NumaResource: "numa_resources",
    NumaAdmissionFailure: "numa_admission_failures",
    LateJoiners: "late_joiners",
    Alert: "alerts",
}
"""Where a row lands. `node_samples` and `pod_samples` are columns already when they arrive: see `streams.samples`."""
