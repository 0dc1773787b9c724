"""Nodes and their remaining resources, their events, their kubelets' settings; failed sources, and alerts."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from common.amounts import size
from streams.fold.findings.row import row
from streams.rules.values.expressions import Operand, is_null
from streams.rules.values.wording import first_of


@row(table="nodes")
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
    """None if the condition Ready is Unknown, or was not in the input: then `ready_message` is empty. An
    Event of a dump that is newer than the object counts.
    """
    taints: list[str]
    capacity: dict[str, int]
    allocatable: dict[str, int]
    ready_since: datetime | None = None
    ready_message: str = ""
    pool: str = ""
    labels: dict[str, str] = {}  # noqa: RUF012  a NamedTuple's default; nobody mutates it
    problems: dict[str, str] = {}  # noqa: RUF012  as above
    problems_since: dict[str, datetime] = {}  # noqa: RUF012  as above
    cordoned_since: datetime | None = None

    @property
    def says_ready(self) -> bool:
        """True if its condition Ready was in the input, with any status."""
        return bool(ready_state(False, self.ready, self.ready_message) != _UNSAID)


_UNSAID: Final = "Unsaid"


def ready_state(deleted: Operand, ready: Operand, message: Operand) -> Operand:
    """Return Ready, NotReady or Unknown by a condition; Unsaid if it was not in the input, Gone without a Node."""
    return first_of(
        (deleted, "Gone"),
        (is_null(ready) & (message == ""), _UNSAID),
        (is_null(ready), "Unknown"),
        (ready == 1, "Ready"),
        otherwise="NotReady",
    )


@row(table="node_leases")
class NodeLease(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    age_seconds: float | None
    duration_seconds: int | None


@row(table="machine_memory", high_rate=True)
class MachineMemoryRow(NamedTuple):
    """Amounts of /proc/meminfo (rules: eviction-signals)."""

    cluster: str
    ts: datetime
    node: str
    total_bytes: int
    free_bytes: int
    available_bytes: int
    buffers_bytes: int
    cached_bytes: int
    swap_cached_bytes: int
    anonymous_bytes: int
    active_file_bytes: int
    inactive_file_bytes: int
    reclaimable_slab_bytes: int


@row(table="file_systems", high_rate=True)
class FileSystemRow(NamedTuple):
    """A file system that no eviction signal is about (rules: unguarded-signals)."""

    cluster: str
    ts: datetime
    node: str
    mount_point: str
    device: str
    kind: str
    capacity_bytes: int
    available_bytes: int
    used_bytes: int
    inodes: int | None
    inodes_free: int | None
    images_known: bool


@row(table="node_events")
class NodeEvent(NamedTuple):
    cluster: str
    ts: datetime
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
    count: int  # type: ignore[assignment]  # the column's public name; tuple.count is not used
    occurrences: int
    occurrences_lower_bound: bool
    component: str
    time_known: bool = True


@row(table="node_fit", high_rate=True)
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
    pods: int


@row(table="kubelet_settings")
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
    enforce_node_allocatable: list[str]
    system_reserved_cgroup: str
    kube_reserved_cgroup: str
    cgroup_driver: str
    max_pods: int
    pod_pids_limit: int | None
    cpu_quota_enforced: bool
    cpu_quota_period_seconds: float
    intended_by: str = ""


@row(table="settings_warnings")
class SettingsWarning(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    rule: str
    subject: str
    holds: bool
    problem: str
    advice: str


@row(table="node_stalls", high_rate=True, replaced=False)
class NodeStall(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    memory_some_percent: float | None
    memory_full_percent: float | None
    io_some_percent: float | None
    io_full_percent: float | None
    swap_usage_bytes: int | None
    swap_available_bytes: int | None
    major_faults_per_second: float | None
    window_seconds: float


@row(table="source_errors")
class SourceError(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    resource: str
    kind: str
    silent_seconds: float | None
    error: str
    entries: int | None = None


@row(table="watches", version=("ts",))
class Watch(NamedTuple):
    """A span in which no change of a resource was missed."""

    cluster: str
    ts: datetime
    resource: str
    since: datetime


@row(table="dead_letters")
class DeadLetter(NamedTuple):
    cluster: str
    ts: datetime
    source: str
    position: str
    error_type: str
    reason: str
    payload: str


REPEAT_EVERY: Final = timedelta(hours=1)
"""Time after which a firing alert is emitted again, so that a reader of the topic's last days knows it."""


@row(table="alerts", version=("updated_at",))
class Alert(NamedTuple):
    """An alert that fired or was resolved, one row for each."""

    cluster: str
    ts: datetime
    fingerprint: str
    alertname: str
    severity: str
    status: str
    starts_at: datetime
    ends_at: datetime | None
    labels: dict[str, str]
    annotations: dict[str, str]
    node: str
    updated_at: datetime
    reason: str = ""


@row(table="kubelet_log", composed=("what",))
class KubeletLogLine(NamedTuple):
    """A line of a kubelet's log (rules: kubelet-log)."""

    cluster: str
    ts: datetime
    node: str
    said: str
    resource: str
    namespace: str
    pod: str
    uid: str
    pods: list[str]
    image: str
    amount_bytes: int | None
    message: str
    time_known: bool
    earliest: datetime | None
    latest: datetime | None

    @property
    def what(self) -> str:
        """Return a sentence about the line; empty if another table has it, for evictions, refusals or failed image
        GC.
        """
        text = _LOG_LINES.get(self.said, "")
        amount = "an unknown size" if self.amount_bytes is None else size(self.amount_bytes)
        pod = f"{self.namespace}/{self.pod}"
        words = text.format(
            resource=self.resource or "a resource",
            which=self.resource and f" {self.resource}",
            amount=amount,
            pod=pod,
            pods=", ".join(self.pods[:3]),
            why=self.message and f": {self.message}",
        )
        return words and f"The kubelet's log: {words}{'' if self.time_known else ' The exact time is unknown.'}"


_LOG_LINES: Final = {
    "kubelet_start": "it started.",
    "threshold_met": "a threshold of {resource} was met, and it tried to reclaim.",
    "reclaimed": "it reclaimed enough{which} without evicting pods.",
    "ranked": "it would evict in this order: {pods}.",
    "spared": "it did not evict {pod}, which is critical.",
    "none_evicted": "it found no pod that it may evict.",
    "not_cleaned_up": "an evicted pod was not gone 30 s later.",
    "image_gc": "image GC began, to free {amount}.",
    "image_removed": "an image of {amount} was removed.",
    "not_ready": "the node is not Ready{why}.",
    "not_allocated": "it could not allocate what a container requests.",
}
