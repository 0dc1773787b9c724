"""Computes the order in which the kubelet would evict the pods of a node (rules: eviction-loop, eviction-order).

QoS class is never compared. The kubelet's own sort is unstable, so it leaves the order of equal pods undefined; here
ties are broken by namespace, name and uid, so that the result is deterministic. `sql.schema.views` makes the view
`eviction_order` from `MEASURES`, `sort_key` and `exceeds` (`streams.rules.values.expressions`). The fields of
`RankedPod` are named like the view's columns.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from streams.rules.eviction import signals
from streams.rules.eviction.signals import Layout
from streams.rules.values.expressions import Operand, either
from streams.rules.values.version import is_at_least

UNEXPLAINED: Final = 0.1
"""Pods that together use less than this share do not explain the pressure. We chose the value."""


class RankedPod(NamedTuple):
    """The amounts of a pod that the ranking needs: bytes, inodes and processes in use, and its effective requests
    (rules: eviction-order).

    Without stats (`has_stats` false) the used amounts are ignored.
    """

    namespace: str
    name: str
    uid: str
    priority: int
    memory_request_bytes: int
    ephemeral_request_bytes: int
    has_stats: bool
    memory_working_set_bytes: int = 0
    rootfs_used_bytes: int = 0
    rootfs_inodes_used: int = 0
    logs_used_bytes: int = 0
    logs_inodes_used: int = 0
    volumes_used_bytes: int = 0
    volumes_inodes_used: int = 0
    processes: int = 0
    critical: bool = False
    """True for static, mirror and system-critical pods, which pressure never evicts (rules: eviction-loop)."""


class SignalUse(NamedTuple):
    """A pod's usage and request for one signal. Without stats usage is None: it is evicted first, except for PIDs."""

    usage: int | None
    request: int
    exceeds_request: bool


class Measure(NamedTuple):
    """The fields of `RankedPod` that the kubelet compares for a signal; an empty name stands for 0."""

    usage: tuple[str, ...]
    """The fields that are summed."""
    request: str = ""
    discount: str = ""
    """Subtracted from usage in the last comparison, among pods of one priority that all exceed, or all do not."""


_MEMORY: Final = Measure(("memory_working_set_bytes",), "memory_request_bytes", "memory_request_bytes")
_SHARES: Final = {
    Layout.SINGLE: (("rootfs", "logs", "volumes"),) * 3,
    Layout.SEPARATE_IMAGEFS: (("logs", "volumes"), ("rootfs",), ("rootfs",)),
    Layout.SPLIT: (("rootfs", "logs", "volumes"), (), ("rootfs", "logs", "volumes")),
}
"""Parts of a pod on the node's file system, on that of images, and on that of containers, by layout."""
_FILE_SYSTEMS: Final = ("nodefs", "imagefs", "containerfs")


def _measures(layout: Layout) -> dict[str, Measure]:
    measures = {
        signals.MEMORY_AVAILABLE: _MEMORY,
        signals.ALLOCATABLE_MEMORY_AVAILABLE: _MEMORY,
        signals.PID_AVAILABLE: Measure(("processes",)),
    }
    for file_system, shares in zip(_FILE_SYSTEMS, _SHARES[layout], strict=True):
        measures[f"{file_system}.available"] = Measure(
            tuple(f"{share}_used_bytes" for share in shares), "ephemeral_request_bytes", "ephemeral_request_bytes"
        )
        # The inode request is 0, so any inode exceeds it; the last comparison still subtracts the ephemeral-storage
        # request, in bytes (rules: eviction-order).
        measures[f"{file_system}.inodesFree"] = Measure(
            tuple(f"{share}_inodes_used" for share in shares), "", "ephemeral_request_bytes"
        )
    return measures


MEASURES: Final[Mapping[Layout, Mapping[str, Measure]]] = {layout: _measures(layout) for layout in Layout}
PROCESSES_COUNT_SINCE: Final = 20
"""Minor version since which processes are compared; before, only priority was."""

Amounts: TypeAlias = tuple[Operand, ...]
Comparison: TypeAlias = Callable[..., Amounts]
_Key: TypeAlias = tuple[int, int, int, int, str, str, str, int]
_COMPARED: Final = 4
"""The part of a key that the kubelet compares; namespace, name and uid after it only break ties."""


def sort_key(is_pid: Operand, counts_processes: Operand) -> Comparison:
    """Return the sort key of (has_stats, usage, request, discount, priority): the lowest pod is evicted first."""
    return either(is_pid, either(counts_processes, _by_processes, _by_priority), _by_usage)


def _by_usage(has_stats: Operand, usage: Operand, request: Operand, discount: Operand, priority: Operand) -> Amounts:
    """Compare missing stats, exceeding, priority, then usage above the request: lower is evicted first,
    so each is stated the other way round. Without stats only the priority counts further.
    """
    return has_stats, has_stats & (usage <= request), priority, has_stats * (discount - usage)


def _by_processes(has_stats: Operand, usage: Operand, _: Operand, __: Operand, priority: Operand) -> Amounts:
    """Compare priority, missing stats, then processes (1.20 and later)."""
    return priority, has_stats, 0, has_stats * (0 - usage)


def _by_priority(_: Operand, __: Operand, ___: Operand, ____: Operand, priority: Operand) -> Amounts:
    return priority, 0, 0, 0


def exceeds(is_pid: Operand, has_stats: Operand, usage: Operand, request: Operand) -> Operand:
    """Tell whether a pod uses more than it requests; processes have no request."""
    return has_stats & (usage > request) & (is_pid == 0)


def signal_use(signal: str, layout: Layout, pod: RankedPod) -> SignalUse:
    """Return the usage and request that the ranking for `signal` compares, and whether usage exceeds the request.

    Bytes for memory and disks, inodes, or processes. Processes have no request that the kubelet would compare:
    their request is 0 and never exceeded. Raises KeyError for an unknown signal.
    """
    usage, request, _ = _measured(_fields(MEASURES[layout][signal]), pod)
    is_over = exceeds(signal == signals.PID_AVAILABLE, pod.has_stats, usage, request)
    return SignalUse(usage if pod.has_stats else None, request, bool(is_over))


def rank(signal: str, layout: Layout, pods: Sequence[RankedPod], kubelet_version: str = "") -> list[int]:
    """Return the indices of `pods` in the order of eviction for `signal`, without critical pods.

    An empty version counts as the newest. Raises KeyError for an unknown signal.
    """
    return [key[-1] for key in sorted(_keys(signal, layout, pods, kubelet_version))]


def tied(signal: str, layout: Layout, pods: Sequence[RankedPod], uid: str, kubelet_version: str = "") -> int:
    """Count the ranked pods that compare equal to the pod with this `uid` for the kubelet, including itself.

    Their order is undefined. Returns 0 for a pod that is not ranked. Raises KeyError for an unknown signal.
    """
    keys = _keys(signal, layout, pods, kubelet_version)
    own = next((key[:_COMPARED] for key in keys if pods[key[-1]].uid == uid), None)
    return sum(1 for key in keys if key[:_COMPARED] == own)


def _keys(signal: str, layout: Layout, pods: Sequence[RankedPod], kubelet_version: str) -> list[_Key]:
    fields = _fields(MEASURES[layout][signal])
    counts_processes = is_at_least(kubelet_version, PROCESSES_COUNT_SINCE)
    amounts = sort_key(signal == signals.PID_AVAILABLE, counts_processes)
    return [
        (*amounts(pod.has_stats, *_measured(fields, pod), pod.priority), pod.namespace, pod.name, pod.uid, index)
        for index, pod in enumerate(pods)
        if not pod.critical
    ]


@cache
def _fields(measure: Measure) -> tuple[tuple[int, ...], ...]:
    """Return the indices of usage, request and discount in a `RankedPod`, because lookups by name are slow."""
    usage, request, discount = measure
    return tuple(
        tuple(map(RankedPod._fields.index, filter(None, names))) for names in (usage, (request,), (discount,))
    )


def _measured(fields: tuple[tuple[int, ...], ...], pod: tuple[Any, ...]) -> list[int]:
    return [sum([pod[place] for place in each]) for each in fields]
