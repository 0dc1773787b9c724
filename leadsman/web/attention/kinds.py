"""The kinds of cards: severity, section, next step, and the alerts about the same problem."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from leadsman.web.attention.badges import Severity
from leadsman.web.attention.item import Item, Step
from streams.alerting.rejections import REMOVE_OR_CORDON
from streams.fold.findings import BLIND_ADVICE
from streams.fold.titles import READ_MESSAGES


class Kind(NamedTuple):
    severity: Severity
    anchor: str
    """The section of the page with more about it."""
    step: Step = Step()
    """The next step, unless a card's own rows suggest a better one."""
    alerts: tuple[str, ...] = ()
    of_each: str = ""
    """The title for one node of a card that counts over nodes."""

    def item(self, title: str, text: str, nodes: Iterable[str], *values: str, **more: Any) -> Item:
        """Return a card of this kind. `values` are the label values of its alerts that distinguish it."""
        keys = tuple((name, *values) for name in self.alerts)
        given = {"step": self.step, "alert_keys": keys, "of_each": self.of_each} | more
        return Item(self.severity, title, text, tuple(nodes), self.anchor, **given)


_CRITICAL, _WARNING, _UNKNOWN, _NOTE = Severity.CRITICAL, Severity.WARNING, Severity.UNKNOWN, Severity.NOTE
_VALIDATE: Final = Step("Check that Leadsman runs and may read the cluster: leadsman validate")
_NEXT_EVICTION: Final = Step("See which pods are evicted first", "next_eviction")
_EVENTS: Final = Step("Read the Events", "events")
_REQUESTS: Final = Step("Find which pods use more than they request", "requests")

NO_DATA: Final = Kind(_UNKNOWN, "unknown", _VALIDATE, ("StreamStalled",))
NO_STATISTICS: Final = Kind(_UNKNOWN, "unknown", Step(), ("StreamStalled",), "No recent statistics")
ALERTS_WITHOUT_DATA: Final = Kind(_UNKNOWN, "alerts", _VALIDATE)
SILENT_SOURCE: Final = Kind(
    _WARNING,
    "unknown",
    Step("Check that it answers and that Leadsman may read it: leadsman validate"),
    ("StreamStalled",),
)

NOT_READY: Final = Kind(_CRITICAL, "nodes", Step(), ("NodeNotReady",), "Not Ready")
READY_UNKNOWN: Final = Kind(_CRITICAL, "nodes", Step(), ("NodeNotReady",), "Ready unknown")
LEAVING: Final = Kind(_NOTE, "nodes", Step(), ("NodeNotReady",))
"""A node that is cordoned, or that an autoscaler removes."""
CORDONED_BY_EVENT: Final = Kind(_NOTE, "nodes")
CONDITION: Final = Kind(_WARNING, "nodes")

HARD_MET: Final = Kind(_CRITICAL, "nodes", _NEXT_EVICTION)
SOFT_MET: Final = Kind(_WARNING, "nodes", _NEXT_EVICTION)
NEAR: Final = Kind(_WARNING, "nodes", _NEXT_EVICTION)
UNGUARDED: Final = Kind(_CRITICAL, "nodes", Step(), ("EvictionThresholdNear",))
GC_WILL_ACT: Final = Kind(_NOTE, "nodes", Step("Nothing to do unless image GC fails", "image_gc"))
PRESSURE: Final = Kind(
    _WARNING,
    "nodes",
    Step("See what is left and which pod is evicted first", "next_eviction"),
    ("NodePressureLasting",),
)
SWINGS: Final = Kind(
    _WARNING, "timeline", Step("Find what fills it again", "pressure_history --by hour"), ("PressureOscillation",)
)
OVERCOMMITTED: Final = Kind(
    _WARNING,
    "nodes",
    Step("Move pods, or lower what they request above their use", "requests"),
    ("NodeOvercommitted",),
)
IMAGE_GC: Final = {
    verdict: Kind(_CRITICAL, "image-gc", Step("See its target and what it freed", "image_gc"), alerts)
    for verdict, alerts in {
        "persistent": ("ImageGCInvalidCapacity", "ImageGCInsufficientFreed"),
        "restart_loop": ("ImageGCRestartLoop",),
        "insufficient_freed": ("ImageGCInsufficientFreed",),
    }.items()
}

EVICTED: Final = Kind(
    _CRITICAL, "timeline", Step("See each of them", "evicted_pods"), ("PodsEvicted",), "pods evicted"
)
EVICTED_FOR_LIMIT: Final = Kind(_WARNING, "timeline", Step(), ("PodsEvicted",), "pods evicted for limits")
EVICTED_UNKNOWN: Final = Kind(
    _WARNING, "timeline", Step(READ_MESSAGES, "evicted_pods"), ("PodsEvicted",), "pods evicted"
)
REJECTED: Final = Kind(
    _WARNING, "timeline", Step(REMOVE_OR_CORDON, "refused_pods"), ("PodsRejected",), "pods rejected"
)
OOM_KILLED: Final = Kind(_WARNING, "timeline", Step(), ("ContainersOOMKilled",), "OOM kills")
TERMINATING: Final = Kind(_WARNING, "timeline")
DEFERRED: Final = Kind(_WARNING, "timeline", Step("See which pods would have to leave", "pending_resizes"))
INFEASIBLE: Final = Kind(
    _WARNING, "timeline", Step("Request less, or move the pod to another node", "pending_resizes")
)
PENDING: Final = Kind(_WARNING, "scheduler", of_each="pods Pending")
CONTRADICTED: Final = Kind(
    _WARNING, "scheduler", Step("Dump the scheduler's cache (SIGUSR2), or restart kube-scheduler", "pending_pods")
)
BLIND_SPOT: Final = Kind(_CRITICAL, "scheduler", Step(BLIND_ADVICE), ("SchedulerBlindSpot",))

LATE_JOINERS: Final = Kind(_WARNING, "numa", Step("See which placement would spread pods evenly", "numa_whatif"))
UNEVEN: Final = Kind(
    _WARNING, "numa", Step("See where exclusive CPUs are free", "numa_map"), ("NUMASkewHigh", "NUMAFragmented")
)

WARNING_EVENTS: Final = Kind(_WARNING, "timeline", _EVENTS)
KERNEL_KILLS: Final = Kind(_CRITICAL, "timeline", _REQUESTS)
