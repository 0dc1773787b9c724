"""Reads the order in which the kubelet would evict a node's pods, and the reasons (rules: eviction-order)."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from ingest.model.samples import USAGES, NodeSample
from leadsman.web.reading.ask import RowDict
from leadsman.web.reading.words import amount, resource, size, unit
from streams.rules.eviction.order import RankedPod, rank, signal_use
from streams.rules.eviction.signals import PID_AVAILABLE, Layout, layout_of
from streams.rules.pods.containers import used_by

SHOWN: Final = 20
GROWN_SECONDS: Final = 240
NO_GROWTH_BYTES: Final = 1 << 20
"""Growth in an hour below this counts as none."""
_SAMPLE: Final = (
    "nodefs_capacity_bytes",
    "nodefs_inodes",
    "imagefs_capacity_bytes",
    "imagefs_inodes",
    "containerfs_capacity_bytes",
    "containerfs_inodes",
)

_RANKED: Final = itemgetter(
    *("namespace", "pod", "uid", "priority", "memory_request_bytes", "ephemeral_request_bytes", "has_stats")
)


class Place(NamedTuple):
    rank: int
    namespace: str
    pod: str
    priority: int
    usage: str
    request: str
    used_bytes: int | None
    request_bytes: int | None
    """None if the signal has no request, or nothing is measured."""
    course: tuple[int, ...]
    """Its use, minute by minute at the end, for signals in bytes."""
    growth: str
    """Growth, for example "+2.8 GiB/h"; empty if unknown."""
    cpu: str
    disk: str
    reason: str
    """Reason for its place in the order."""

    @property
    def is_over(self) -> bool:
        return (self.used_bytes or 0) > (self.request_bytes or 0)


class Order(NamedTuple):
    """The eviction order for a signal; `pods` also counts those that are not shown."""

    signal: str
    places: tuple[Place, ...]
    pods: int
    never: int = 0
    """Number of pods that the kubelet never evicts."""

    @property
    def most_bytes(self) -> int:
        """Return the largest usage or request, for the length of bars."""
        return max(1, *(each for place in self.places for each in (place.used_bytes or 0, place.request_bytes or 0)))


def orders(
    signals: Sequence[str],
    sample: RowDict,
    pods: Sequence[RowDict],
    kubelet_version: str,
    usage: Sequence[RowDict] = (),
) -> list[Order]:
    """Build the order for each signal, from one node's rows of `last_sample`, `order_pods` and `pod_usage`."""
    courses = {row["uid"]: row for row in usage}
    layout = layout_of(NodeSample(**{name: sample[name] for name in _SAMPLE}))
    ranked = [ranked_pod(each) for each in pods]
    return [_order(signal, layout, ranked, kubelet_version, courses) for signal in signals]


def ranked_pod(row: RowDict) -> RankedPod:
    pod = RankedPod(*_RANKED(row))._replace(has_stats=bool(row["has_stats"]), critical=bool(row["critical"]))
    if not pod.has_stats:
        return pod
    local = used_by(tuple(row["local_volumes"]), row["volumes"])
    measured = row | {"volumes_used_bytes": local.used_bytes, "volumes_inodes_used": local.inodes}
    return pod._replace(**{name: measured[name] for name in USAGES})


def _order(
    signal: str, layout: Layout, pods: Sequence[RankedPod], kubelet_version: str, courses: Mapping[str, RowDict]
) -> Order:
    ranked = rank(signal, layout, pods, kubelet_version)
    places = tuple(
        _place(nth, signal, layout, pods[index], courses.get(pods[index].uid))
        for nth, index in enumerate(ranked[:SHOWN], start=1)
    )
    return Order(signal, places, len(ranked), len(pods) - len(ranked))


def _place(nth: int, signal: str, layout: Layout, pod: RankedPod, measured: RowDict | None) -> Place:
    usage, request, exceeds = signal_use(signal, layout, pod)
    if usage is None:
        reason = "no statistics: evicted before all pods with statistics"
    elif signal == PID_AVAILABLE:
        reason = "by priority, then by its processes"
    elif exceeds and request:
        reason = f"{amount(usage - request, signal)} over its request"
    elif exceeds:
        reason = "requests none"
    else:
        reason = "within its request"
    course: tuple[int, ...] = ()
    at: Sequence[int] = ()
    if measured is not None and unit(signal) == "bytes":
        at, course = measured["at"], tuple(measured["memory" if "emory" in signal else "disk"])
    has_request = signal != PID_AVAILABLE and not signal.endswith("inodesFree")
    return Place(
        nth,
        pod.namespace,
        pod.name,
        pod.priority,
        amount(usage, signal),
        ("no request" if not request else f"of {amount(request, signal)}") if has_request else "",
        usage if has_request else None,
        request if has_request else None,
        course,
        _growth(at, course),
        "" if measured is None or measured["cpu"] is None else resource(round(measured["cpu"] / 1e6), "cpu"),
        "" if measured is None else size(measured["disk"][-1]),
        reason,
    )


def _growth(at: Sequence[int], course: Sequence[int]) -> str:
    """Return the growth in an hour, over a series of at least GROWN_SECONDS."""
    if not course or at[-1] - at[0] < GROWN_SECONDS:
        return ""
    grown = (course[-1] - course[0]) * 3600 / (at[-1] - at[0])
    return "none" if abs(grown) < NO_GROWTH_BYTES else f"{'+' if grown > 0 else '−'}{size(abs(grown))}/h"  # noqa: RUF001 - a minus
