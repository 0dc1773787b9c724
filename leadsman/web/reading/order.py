"""The order in which the kubelet would evict the pods of a node, and why each stands where
(rules: eviction-order).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from ingest.model.samples import USAGES, NodeSample
from leadsman.web.reading.asked import RowDict
from leadsman.web.reading.words import amount
from streams.rules.eviction.order import RankedPod, rank, standing
from streams.rules.eviction.signals import PID_AVAILABLE, Layout, layout_of

SHOWN: Final = 10
_SAMPLE: Final = (
    "nodefs_capacity_bytes",
    "nodefs_inodes",
    "imagefs_capacity_bytes",
    "imagefs_inodes",
    "containerfs_capacity_bytes",
    "containerfs_inodes",
)


class Place(NamedTuple):
    """One pod of an order."""

    rank: int
    namespace: str
    pod: str
    priority: int
    usage: str
    request: str
    reason: str
    """Why it stands here."""


class Order(NamedTuple):
    """Who goes first for a signal; `pods` counts those that are not shown, too."""

    signal: str
    places: tuple[Place, ...]
    pods: int


def orders(signals: Sequence[str], sample: RowDict, pods: Sequence[RowDict], kubelet_version: str) -> list[Order]:
    """The order of each signal, from rows of `last_sample` and `order_pods` of one node."""
    layout = layout_of(NodeSample(**{name: sample[name] for name in _SAMPLE}))
    ranked = [ranked_pod(each) for each in pods]
    return [_order(signal, layout, ranked, kubelet_version) for signal in signals]


def ranked_pod(row: RowDict) -> RankedPod:
    """A row of `order_pods` as the ranking takes it."""
    pod = RankedPod(
        row["namespace"],
        row["pod"],
        row["uid"],
        row["priority"],
        row["memory_request_bytes"],
        row["ephemeral_request_bytes"],
        has_stats=bool(row["has_stats"]),
        critical=bool(row["critical"]),
    )
    return pod._replace(**{name: row[name] for name in USAGES}) if pod.has_stats else pod


def _order(signal: str, layout: Layout, pods: Sequence[RankedPod], kubelet_version: str) -> Order:
    ranked = rank(signal, layout, pods, kubelet_version)
    places = tuple(_place(nth, signal, layout, pods[index]) for nth, index in enumerate(ranked[:SHOWN], start=1))
    return Order(signal, places, len(ranked))


def _place(nth: int, signal: str, layout: Layout, pod: RankedPod) -> Place:
    usage, request, exceeds = standing(signal, layout, pod)
    if usage is None:
        reason = "no statistics: goes before all that have some"
    elif signal == PID_AVAILABLE:
        reason = "by priority, then by its processes"
    elif exceeds and request:
        reason = f"{amount(usage - request, signal)} over its request"
    elif exceeds:
        reason = "requests none"
    else:
        reason = "within its request"
    has_request = signal != PID_AVAILABLE and not signal.endswith("inodesFree")
    return Place(
        nth,
        pod.namespace,
        pod.name,
        pod.priority,
        amount(usage, signal),
        amount(request, signal) if has_request else "",
        reason,
    )
