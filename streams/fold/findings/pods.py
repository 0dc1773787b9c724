"""Pods on their nodes."""

from datetime import datetime
from typing import Final, NamedTuple

from streams.fold.findings.row import row
from streams.fold.titles import OUT_OF_MEMORY
from streams.rules.pod_ends.when import DRAINERS
from streams.rules.values.expressions import Amount


def is_waiting(change: Amount, phase: Amount) -> Amount:
    """Tell whether a pod was Pending after a change of it, scheduled or not."""
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
    """Static, mirror, or priority of at least 2,000,000,000: never evicted under pressure (rules: eviction-loop)."""
    cpu_request_millicores: int
    cpu_limit_millicores: int | None
    """None if a container has no limit."""
    memory_request_bytes: int
    memory_limit_bytes: int | None
    ephemeral_request_bytes: int
    eviction_memory_request_bytes: int
    """The request that the ranking compares: overhead only if the request is not zero (rules: eviction-order)."""
    eviction_ephemeral_request_bytes: int
    exclusive_cpus: int
    requests: dict[str, int]
    """Every requested resource, effective (rules: pod-requests)."""
    phase: str
    reason: str
    owner_kind: str
    owner_name: str
    created_at: datetime | None
    tolerations: list[str]
    """Tolerations as key=value:effect, or key:effect for any value; an empty key or effect matches everything."""
    local_volumes: list[str] = []  # noqa: RUF012  a NamedTuple's default; nobody mutates it
    """Names of its volumes that the eviction ranking counts (rules: eviction-order)."""
    labels: dict[str, str] = {}  # noqa: RUF012  as above
    constraints: str = ""
    """Inputs of the scheduler besides requests and tolerations, as the JSON of `Constraints`, or empty."""
    deletion_asked_at: datetime | None = None
    """None if its deletion was not asked for."""
    waits_for: str = ""
    """Reason why it is Pending, by its own status."""


@row(table="pod_ends", composed=("ending",), version=("actor", "cause_known", "time_known", "updated_at"))
class PodEnd(NamedTuple):
    cluster: str
    ts: datetime
    """When it ended, by the first witness."""
    node: str
    namespace: str
    pod: str
    uid: str
    container: str
    """Empty for the pod itself."""
    attempt: int
    """Number of earlier restarts of the container; 0 for the pod itself."""
    cause: str
    actor: str
    """Empty if no witness names it."""
    reason: str
    message: str
    witness: str
    """`event`, `status` or `both`."""
    exit_code: int | None
    restarted: bool
    """The container was, or is being, started again."""
    deleted: bool
    """The pod is gone since."""
    owner_kind: str
    """Controller that recreates it; empty if an Event is the only witness."""
    owner_name: str
    updated_at: datetime
    time_known: bool = True
    """A witness has the time; else `ts` is one of the bounds."""
    earliest: datetime | None = None
    latest: datetime | None = None
    restart_policy: str = ""
    """Restart policy of the pod; empty if an Event is the only witness."""
    refused_by: str = ""
    """The part of the kubelet that rejected it at admission (rules: admission-texts); empty if the text does not
    say.
    """
    resource: str = ""
    """The resource that it was refused for, or the node's conditions; empty if the text names none."""
    requested: int | None = None
    """These two by the kubelet's text, in base units, cpu in millicores."""
    available: int | None = None
    explanation: str = ""
    """The text in words; empty if nothing is known beyond it."""

    @property
    def cause_known(self) -> bool:
        """Tell whether more is known than the word Evicted. A row that says why replaces one that does not."""
        return self.cause != "kubelet_eviction"

    @property
    def ending(self) -> str:
        """Words for its end that follow "was"; empty if another sentence has them, or none does."""
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
"""Below it, a code is a status of Windows."""


KERNEL_KILLS: Final = (
    "Either the container reached its memory limit, or "
    f"{OUT_OF_MEMORY[0].lower()}{OUT_OF_MEMORY[1:]} before the kubelet could evict."
)
"""Possible causes of an OOM kill."""


@row(table="storage_limits")
class StorageLimit(NamedTuple):
    cluster: str
    ts: datetime
    """When they were first seen."""
    node: str
    namespace: str
    pod: str
    uid: str
    ephemeral_limit_bytes: int | None
    """Limit of its containers together, above which the pod is evicted. None if no container has one."""
    log_limit_bytes: int | None
    """Bytes that rotation leaves of its containers' logs, including those of earlier attempts; None without
    /configz.
    """
    volume_limits: dict[str, int]
    """The `sizeLimit` in bytes of each emptyDir on disk; over it the pod is evicted."""


@row(table="resizes")
class Resize(NamedTuple):
    cluster: str
    ts: datetime
    """When it was first seen to be so."""
    node: str
    namespace: str
    pod: str
    uid: str
    state: str
    """`deferred`, `infeasible`, `pending` for another reason, `in_progress`; `done`, `withdrawn`, or `gone` with its
    pod.
    """
    message: str
    """Message of the kubelet's condition; empty if it ended."""
    wanted: dict[str, int]
    """Requests that the pod would have, in base units, cpu in millicores."""
    running: dict[str, int]
    """Resources that it runs with: the larger of allocated and actual."""


@row(table="cpu_throttling", high_rate=True)
class CpuThrottling(NamedTuple):
    """Counters since each cgroup was made."""

    cluster: str
    ts: datetime
    node: str
    uid: str
    containers: list[str]
    """Their ids; empty for the pod's own cgroup. A container that is not in it had no period."""
    periods: list[int]
    throttled_periods: list[int]
    throttled_nanoseconds: list[int]


@row(table="scheduling_failures", composed=("why",))
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

    @property
    def why(self) -> str:
        """Number of nodes for each reason, as the scheduler writes it; lower bounds if the text was cut."""
        if not self.reasons:
            return self.prefilter or ("no nodes available to schedule pods" if self.nodes_total == 0 else "")
        reasons = ", ".join(f"{nodes} {reason}" for reason, nodes in sorted(self.reasons.items()))
        return f"{reasons} (the text was cut: more nodes can have them)" if self.truncated else reasons


BLIND_VERDICTS: Final = {
    "lost_node": "does not see a node",
    "stale_view": "counts fewer nodes than exist",
    "ghost_nodes": "counts nodes that do not exist",
}
"""The verdicts in words, as they follow "The scheduler"."""
BLIND_ADVICE: Final = "Restart kube-scheduler, or add a node if it lost one"


@row(table="scheduler_blind_spots", composed=("what",))
class SchedulerBlindSpot(NamedTuple):
    cluster: str
    ts: datetime
    """Time of the text that shows it; for `placement`, the start of the time in which the node gets no pods."""
    verdict: str
    test: str
    """The test that showed it: `nodes_evaluated`, `nodes_total`, `placement` or `text`."""
    node: str
    namespace: str
    pod: str
    evidence: str
    scheduler_version: str

    @property
    def what(self) -> str:
        pod = f", by pod {self.namespace}/{self.pod}" if self.pod else ""
        return f"The scheduler {BLIND_VERDICTS.get(self.verdict, self.verdict)}{pod}: {self.evidence}"


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
    """JSON; empty if it was deleted."""


@row(table="scheduled_lists")
class ScheduledList(NamedTuple):
    cluster: str
    ts: datetime
    resource: str
    after: str
    until: str
    """Empty at the end of the list."""
    uids: list[str]
