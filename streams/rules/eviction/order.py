"""The order in which the kubelet would evict the pods of a node (rules: eviction-loop, eviction-order).

QoS class is never compared. The kubelet's own sort is unstable, so it leaves the order of equal pods undefined; here
ties are broken by namespace, name and uid, so that the result is deterministic. `sql/schema/views/eviction_order.sql`
ranks the same way, and a test compares both.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from streams.rules.eviction import signals
from streams.rules.eviction.signals import Layout
from streams.rules.values.version import is_at_least

UNEXPLAINED: Final = 0.1
"""If all pods together use less than this share of all use, none of them explains the pressure."""


class RankedPod(NamedTuple):
    """The parts of a pod that the ranking compares: bytes, inodes and processes in use; requests as the ranking
    counts them (rules: eviction-order).

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
    """Static, mirror, or of system-critical priority: never evicted under pressure (rules: eviction-loop)."""


class SignalUse(NamedTuple):
    """A pod's usage and request for one signal.

    Usage is None without stats. Such a pod goes first, except for PIDs, where priority decides first.
    """

    usage: int | None
    request: int
    exceeds_request: bool


class _Measure(NamedTuple):
    usage: Callable[[RankedPod], int]
    request: Callable[[RankedPod], int]
    discount: Callable[[RankedPod], int]
    """Subtracted from usage when two pods are compared that both exceed their request, or both do not."""


def _nothing(_: RankedPod) -> int:
    return 0


def _memory_request(pod: RankedPod) -> int:
    return pod.memory_request_bytes


def _ephemeral_request(pod: RankedPod) -> int:
    return pod.ephemeral_request_bytes


def _writable_layer_bytes(pod: RankedPod) -> int:
    return pod.rootfs_used_bytes


def _writable_layer_inodes(pod: RankedPod) -> int:
    return pod.rootfs_inodes_used


def _logs_and_volumes_bytes(pod: RankedPod) -> int:
    return pod.logs_used_bytes + pod.volumes_used_bytes


def _logs_and_volumes_inodes(pod: RankedPod) -> int:
    return pod.logs_inodes_used + pod.volumes_inodes_used


def _all_bytes(pod: RankedPod) -> int:
    return pod.rootfs_used_bytes + pod.logs_used_bytes + pod.volumes_used_bytes


def _all_inodes(pod: RankedPod) -> int:
    return pod.rootfs_inodes_used + pod.logs_inodes_used + pod.volumes_inodes_used


_MEMORY: Final = _Measure(lambda pod: pod.memory_working_set_bytes, _memory_request, _memory_request)
_PROCESSES: Final = _Measure(lambda pod: pod.processes, _nothing, _nothing)

_BYTE_SIGNALS: Final = (signals.NODEFS_AVAILABLE, signals.IMAGEFS_AVAILABLE, signals.CONTAINERFS_AVAILABLE)
_INODE_SIGNALS: Final = (signals.NODEFS_INODES_FREE, signals.IMAGEFS_INODES_FREE, signals.CONTAINERFS_INODES_FREE)
_BYTES_USED: Final = {
    Layout.SINGLE: (_all_bytes, _all_bytes, _all_bytes),
    Layout.SEPARATE_IMAGEFS: (_logs_and_volumes_bytes, _writable_layer_bytes, _writable_layer_bytes),
    Layout.SPLIT: (_all_bytes, _nothing, _all_bytes),
}
_INODES_USED: Final = {
    Layout.SINGLE: (_all_inodes, _all_inodes, _all_inodes),
    Layout.SEPARATE_IMAGEFS: (_logs_and_volumes_inodes, _writable_layer_inodes, _writable_layer_inodes),
    Layout.SPLIT: (_all_inodes, _nothing, _all_inodes),
}


def _measures(layout: Layout) -> dict[str, _Measure]:
    measures = {
        signals.MEMORY_AVAILABLE: _MEMORY,
        signals.ALLOCATABLE_MEMORY_AVAILABLE: _MEMORY,
        signals.PID_AVAILABLE: _PROCESSES,
    }
    for signal, usage in zip(_BYTE_SIGNALS, _BYTES_USED[layout], strict=True):
        measures[signal] = _Measure(usage, _ephemeral_request, _ephemeral_request)
    for signal, usage in zip(_INODE_SIGNALS, _INODES_USED[layout], strict=True):
        # The inode request is 0, so any inode exceeds it; the last comparison still subtracts the ephemeral-storage
        # request, in bytes (rules: eviction-order).
        measures[signal] = _Measure(usage, _nothing, _ephemeral_request)
    return measures


_MEASURES: Final = {layout: _measures(layout) for layout in Layout}

_Key: TypeAlias = tuple[bool | int, bool | int, bool | int, int, str, str, str, int]
_COMPARED: Final = 4
"""The part of a key that the kubelet compares; namespace, name and uid after it break ties."""


def signal_use(signal: str, layout: Layout, pod: RankedPod) -> SignalUse:
    """Usage and request that the ranking for `signal` compares, and whether usage exceeds the request.

    Bytes for memory and disks, inodes, or processes. Processes have no request that the kubelet would compare:
    their request is 0 and never exceeded. Raises KeyError for an unknown signal.
    """
    measure = _MEASURES[layout][signal]
    request = measure.request(pod)
    if not pod.has_stats:
        return SignalUse(None, request, exceeds_request=False)
    usage = measure.usage(pod)
    return SignalUse(usage, request, signal != signals.PID_AVAILABLE and usage > request)


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
    compared = next((key[:_COMPARED] for key in keys if pods[key[-1]].uid == uid), None)
    return sum(1 for key in keys if key[:_COMPARED] == compared)


def _keys(signal: str, layout: Layout, pods: Sequence[RankedPod], kubelet_version: str) -> list[_Key]:
    if signal != signals.PID_AVAILABLE:
        return _usage_keys(_MEASURES[layout][signal], pods)
    if is_at_least(kubelet_version, 20):
        return _process_keys(pods)
    return _priority_keys(pods)


def _usage_keys(measure: _Measure, pods: Sequence[RankedPod]) -> list[_Key]:
    """Missing stats, then exceeding, then lower priority, then the larger usage above the request."""
    usage_of, request_of, discount_of = measure
    keys: list[_Key] = []
    for index, pod in enumerate(pods):
        if pod.critical:
            continue
        if pod.has_stats:
            usage = usage_of(pod)
            within_request, excess = usage <= request_of(pod), usage - discount_of(pod)
        else:
            within_request, excess = False, 0
        keys.append((pod.has_stats, within_request, pod.priority, -excess, pod.namespace, pod.name, pod.uid, index))
    return keys


def _process_keys(pods: Sequence[RankedPod]) -> list[_Key]:
    """Lower priority, then missing stats, then more processes (1.20 and later)."""
    return [
        (
            pod.priority,
            pod.has_stats,
            False,
            -pod.processes if pod.has_stats else 0,
            pod.namespace,
            pod.name,
            pod.uid,
            index,
        )
        for index, pod in enumerate(pods)
        if not pod.critical
    ]


def _priority_keys(pods: Sequence[RankedPod]) -> list[_Key]:
    return [
        (pod.priority, False, False, 0, pod.namespace, pod.name, pod.uid, index)
        for index, pod in enumerate(pods)
        if not pod.critical
    ]
