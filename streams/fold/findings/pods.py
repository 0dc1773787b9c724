"""Pods on their nodes."""

from datetime import datetime
from typing import Final, NamedTuple

from streams.fold.findings.row import row
from streams.fold.titles import OUT_OF_MEMORY
from streams.rules.pod_ends.when import DRAINERS
from streams.rules.values.expressions import Operand

CHANGES: Final = ("pending", "bound", "updated", "finished", "deleted")
"""Changes of a pod, in the order in which those that were seen at the same time happened."""


def is_waiting(change: Operand, phase: Operand) -> Operand:
    """Tell whether a pod was Pending after a change, scheduled or not."""
    return (change == "pending") | ((phase == "Pending") & (change != "finished") & (change != "deleted"))


@row(table="pod_bindings")
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
    cpu_request_millicores: int
    cpu_limit_millicores: int | None
    memory_request_bytes: int
    memory_limit_bytes: int | None
    ephemeral_request_bytes: int
    eviction_memory_request_bytes: int
    """The request that the ranking compares: overhead only if the request is not zero (rules: eviction-order)."""
    eviction_ephemeral_request_bytes: int
    exclusive_cpus: int
    requests: dict[str, int]
    phase: str
    reason: str
    owner_kind: str
    owner_name: str
    created_at: datetime | None
    tolerations: list[str]
    local_volumes: list[str] = []  # noqa: RUF012  a NamedTuple's default; nobody mutates it
    labels: dict[str, str] = {}  # noqa: RUF012  as above
    constraints: str = ""
    deletion_asked_at: datetime | None = None
    waits_for: str = ""
    preferences: str = ""
    started_at: datetime | None = None


@row(table="pod_ends", composed=("ending",), version=("actor", "cause_known", "time_known", "updated_at"))
class PodEnd(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    namespace: str
    pod: str
    uid: str
    container: str
    attempt: int
    cause: str
    actor: str
    reason: str
    message: str
    witness: str
    exit_code: int | None
    restarted: bool
    deleted: bool
    owner_kind: str
    owner_name: str
    updated_at: datetime
    time_known: bool = True
    earliest: datetime | None = None
    latest: datetime | None = None
    restart_policy: str = ""
    refused_by: str = ""
    resource: str = ""
    requested: int | None = None
    available: int | None = None
    explanation: str = ""

    @property
    def cause_known(self) -> bool:
        """Tell whether more is known than the word Evicted. A row with the cause replaces one without."""
        return self.cause != "kubelet_eviction"

    @property
    def ending(self) -> str:
        """Return the text after "was" for the end; empty if another sentence covers it, or no text fits."""
        evicted_by = "the eviction API" if self.actor == "eviction API" else self.actor
        drained = ", which drains the node" if self.actor in DRAINERS.values() else ""
        begun = "restarted" if self.container else "ended"
        return {
            "admission": f"rejected at admission: {self.reason}",
            "api_eviction": f"evicted by {evicted_by}{drained}",
            "deleted": f"deleted by {self.actor}{drained}" if drained else "",
            "deadline": "ended at the active deadline",
            "exited": self._exit,
            "kubelet_preemption": "preempted by the kubelet for a critical pod",
            "liveness": f"{begun}{self._in_container} after a failed liveness or startup probe",
            "node_lost": "lost: the node no longer reports",
            "node_reboot": f"restarted{self._in_container} by a reboot of the node",
            "node_shutdown": "ended by the shutdown of the node",
            "oom_kill": f"OOM killed{self._in_container}",
            "pod_gc": "garbage-collected: the node is gone",
            "scheduler_preemption": f"preempted by {self.actor} for a pod of higher priority",
            "taint_manager": "evicted for a NoExecute taint of the node",
        }.get(self.cause, "")

    @property
    def _in_container(self) -> str:
        return f" in container {self.container}" if self.container else ""

    @property
    def _exit(self) -> str:
        code = self.exit_code or 0
        killed = code in _SIGNALS
        ended = "terminated" if killed else "ended by its own process"
        begun = f"restarted{self._in_container}" if self.container else ended
        name = _SIGNALS.get(code, f" (0x{code & 0xFFFFFFFF:X})" if code < _WINDOWS else "")
        by = ": nothing shows who ended it" if killed else ""
        return f"{begun} with exit code {code}{name}{by}"


_SIGNALS: Final = {137: " (SIGKILL)", 143: " (SIGTERM)"}
_WINDOWS: Final = -65_536
"""A lower exit code is a Windows status."""


KERNEL_KILLS: Final = (
    "Either the container reached its memory limit, or "
    f"{OUT_OF_MEMORY[0].lower()}{OUT_OF_MEMORY[1:]} before the kubelet could evict."
)
"""Possible causes of an OOM kill."""


@row(table="storage_limits")
class StorageLimit(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    namespace: str
    pod: str
    uid: str
    ephemeral_limit_bytes: int | None
    log_limit_bytes: int | None
    volume_limits: dict[str, int]


@row(table="resizes")
class Resize(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    namespace: str
    pod: str
    uid: str
    state: str
    message: str
    wanted: dict[str, int]
    running: dict[str, int]


@row(table="cpu_throttling", high_rate=True)
class CpuThrottling(NamedTuple):
    """Counters since each cgroup was created."""

    cluster: str
    ts: datetime
    node: str
    uid: str
    containers: list[str]
    periods: list[int]
    throttled_periods: list[int]
    throttled_nanoseconds: list[int]


@row(table="cgroup_values", high_rate=True)
class CgroupValuesRow(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    uid: str
    container: str
    cgroup: str
    cpu_shares: int | None
    cpu_weight: int | None
    cpu_quota_microseconds: int | None
    cpu_period_microseconds: int | None
    memory_limit_bytes: int | None


@row(table="scheduling_failures", composed=("why",))
class SchedulingFailure(NamedTuple):
    cluster: str
    ts: datetime
    namespace: str
    pod: str
    uid: str
    nodes_total: int
    nodes_known: int
    reasons: dict[str, int]
    reason_sum: int
    prefilter: str
    post_filter: str
    preemption: str
    truncated: bool
    pinned_node: str
    text_source: str

    @property
    def why(self) -> str:
        """Return the number of nodes by reason, as the scheduler writes it; lower bounds if the text was cut."""
        if not self.reasons:
            return self.prefilter or ("no nodes available to schedule pods" if self.nodes_total == 0 else "")
        reasons = ", ".join(f"{nodes} {reason}" for reason, nodes in sorted(self.reasons.items()))
        return f"{reasons} (the text was cut: more nodes can have them)" if self.truncated else reasons


BLIND_VERDICTS: Final = {
    "lost_node": "does not see a node",
    "stale_view": "counts fewer nodes than exist",
    "ghost_nodes": "counts nodes that do not exist",
}
"""The text after "The scheduler", by verdict."""
BLIND_ADVICE: Final = "Restart kube-scheduler, or add a node if it lost one"


@row(table="scheduler_blind_spots", composed=("what",))
class SchedulerBlindSpot(NamedTuple):
    cluster: str
    ts: datetime
    verdict: str
    test: str
    node: str
    namespace: str
    pod: str
    evidence: str
    scheduler_version: str

    @property
    def what(self) -> str:
        pod = f", by pod {self.namespace}/{self.pod}" if self.pod else ""
        return f"The scheduler {BLIND_VERDICTS.get(self.verdict, self.verdict)}{pod}: {self.evidence}"


QUEUES: Final = {
    "active": "Tried next: the highest priority first, then the one that has been in it longest.",
    "backoff": "Tried when its backoff is over: 1 s after the first failure, twice as long after each, 10 s at most. "
    "Since 1.33, earlier if no pod is active.",
    "unschedulable": "Tried after an event that may help, such as a new node or a deleted pod, else after 5 minutes.",
    "gated": "Tried once nothing holds it back, for example its scheduling gates.",
}
"""When a pod leaves each queue of a scheduler, by its defaults (rules: scheduling-queue)."""


@row(table="scheduling_queues", composed=("leaves_when",))
class SchedulingQueue(NamedTuple):
    cluster: str
    ts: datetime
    scheduler: str
    queue: str
    pods: int
    uids: list[str]

    @property
    def leaves_when(self) -> str:
        return QUEUES.get(self.queue, "")


@row(table="scheduling_attempts")
class SchedulingAttempt(NamedTuple):
    cluster: str
    ts: datetime
    namespace: str
    pod: str
    uid: str
    node: str
    bound: bool
    score: int | None
    plugins: dict[str, int]
    refused_by: str
    evaluated_nodes: int | None
    feasible_nodes: int | None
    listed_nodes: int | None
    nodes_known: int
    said: str


@row(table="scheduled_objects")
class ScheduledObject(NamedTuple):
    cluster: str
    ts: datetime
    resource: str
    namespace: str
    name: str
    uid: str
    deleted: bool
    facts: str
    """Empty if the object was deleted."""


@row(table="scheduled_lists")
class ScheduledList(NamedTuple):
    cluster: str
    ts: datetime
    resource: str
    after: str
    until: str
    uids: list[str]
