"""Computes eviction signals as the kubelet observes them (rules: eviction-signals, unguarded-signals)."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from ingest.model.samples import NodeSample
from streams.rules.values.expressions import Operand, choose, most

MEMORY_AVAILABLE: Final = "memory.available"
ALLOCATABLE_MEMORY_AVAILABLE: Final = "allocatableMemory.available"
NODEFS_AVAILABLE: Final = "nodefs.available"
NODEFS_INODES_FREE: Final = "nodefs.inodesFree"
IMAGEFS_AVAILABLE: Final = "imagefs.available"
IMAGEFS_INODES_FREE: Final = "imagefs.inodesFree"
CONTAINERFS_AVAILABLE: Final = "containerfs.available"
CONTAINERFS_INODES_FREE: Final = "containerfs.inodesFree"
PID_AVAILABLE: Final = "pid.available"

_TABLE: Final = (
    (MEMORY_AVAILABLE, "memory", "memory"),
    (ALLOCATABLE_MEMORY_AVAILABLE, "memory", "memory that pods may use"),
    (NODEFS_AVAILABLE, "ephemeral-storage", "the node's file system"),
    (NODEFS_INODES_FREE, "inodes", "inodes of the node's file system"),
    (IMAGEFS_AVAILABLE, "ephemeral-storage", "the image file system"),
    (IMAGEFS_INODES_FREE, "inodes", "inodes of the image file system"),
    (CONTAINERFS_AVAILABLE, "ephemeral-storage", "the file system of containers"),
    (CONTAINERFS_INODES_FREE, "inodes", "inodes of the file system of containers"),
    (PID_AVAILABLE, "pids", "process IDs"),
)
"""Every signal, its scarce resource, and what it measures in words."""
_CONDITIONS: Final = {
    "memory": "MemoryPressure",
    "ephemeral-storage": "DiskPressure",
    "inodes": "DiskPressure",
    "pids": "PIDPressure",
}

SIGNALS: Final = tuple(signal for signal, _, _ in _TABLE)
"""Every signal. The kubelet acts on memory first (rules: eviction-loop); the order of the others is ours."""

SETTABLE: Final = frozenset(
    {MEMORY_AVAILABLE, NODEFS_AVAILABLE, NODEFS_INODES_FREE, IMAGEFS_AVAILABLE, IMAGEFS_INODES_FREE, PID_AVAILABLE}
)
"""Signals whose thresholds users set; the kubelet derives the thresholds of the others (rules:
eviction-thresholds).
"""

RESOURCES: Final = {signal: resource for signal, resource, _ in _TABLE}
"""The scarce resource, as events and messages name it (rules: eviction-messages)."""
CONDITIONS: Final = {signal: _CONDITIONS[resource] for signal, resource in RESOURCES.items()}
"""The node condition that a met threshold of the signal sets."""
_MEASURED: Final = {signal: words for signal, _, words in _TABLE}


class Layout(StrEnum):
    """Layout of a node's file systems: which of them hold pod data, images and writable layers (rules: eviction-loop,
    eviction-order).
    """

    SINGLE = "single"
    """One file system for all."""
    SEPARATE_IMAGEFS = "separate_imagefs"
    """Images and writable layers on their own file system."""
    SPLIT = "split"
    """Images on their own file system, writable layers on the node's."""


class Observed(NamedTuple):
    """Available amount of a signal and its capacity: bytes, inodes or processes."""

    available: int
    capacity: int


def describe_signal(signal: str) -> str:
    """Return a signal in words, such as "inodes of the node's file system"; an unknown one stays unchanged."""
    return _MEASURED.get(signal, signal)


def observe(sample: NodeSample) -> dict[str, Observed]:
    """Return the signals that the sample has, in the order of `SIGNALS`.

    A signal of which any input is missing is not observed and so never met (rules: eviction-signals).
    """
    available_and_capacity = {
        MEMORY_AVAILABLE: _memory(sample.memory_available_bytes, sample.memory_working_set_bytes),
        ALLOCATABLE_MEMORY_AVAILABLE: _memory(
            sample.pods_memory_available_bytes, sample.pods_memory_working_set_bytes
        ),
        NODEFS_AVAILABLE: (sample.nodefs_available_bytes, sample.nodefs_capacity_bytes),
        NODEFS_INODES_FREE: (sample.nodefs_inodes_free, sample.nodefs_inodes),
        IMAGEFS_AVAILABLE: (sample.imagefs_available_bytes, sample.imagefs_capacity_bytes),
        IMAGEFS_INODES_FREE: (sample.imagefs_inodes_free, sample.imagefs_inodes),
        CONTAINERFS_AVAILABLE: (sample.containerfs_available_bytes, sample.containerfs_capacity_bytes),
        CONTAINERFS_INODES_FREE: (sample.containerfs_inodes_free, sample.containerfs_inodes),
        PID_AVAILABLE: _processes(sample.pids_max, sample.pids_current),
    }
    return {
        signal: Observed(available, capacity)
        for signal, (available, capacity) in available_and_capacity.items()
        if available is not None and capacity is not None
    }


def _memory(available_bytes: int | None, working_set_bytes: int | None) -> tuple[int | None, int | None]:
    if available_bytes is None or working_set_bytes is None:
        return None, None
    return available_bytes, available_bytes + working_set_bytes


def _processes(pids_max: int | None, pids_current: int | None) -> tuple[int | None, int | None]:
    if not pids_max or pids_current is None:  # a maximum of 0 is wrong, because nothing could run
        return None, None
    return pids_max - pids_current, pids_max


def layout_of(sample: NodeSample) -> Layout:
    """Return the layout as one sample shows it.

    File systems of equal capacity and inodes count as one; their available amounts may differ, because
    they are sampled at different moments. So two disks of the very same size look like one. An unknown image
    file system (capacity missing or 0) counts as the node's; an unknown container file system counts as the image
    file system.
    """
    return _cached_layout(
        sample.nodefs_capacity_bytes or 0,
        sample.nodefs_inodes or 0,
        sample.imagefs_capacity_bytes or 0,
        sample.imagefs_inodes or 0,
        sample.containerfs_capacity_bytes or 0,
        sample.containerfs_inodes or 0,
    )


def layout(
    nodefs: Operand,
    nodefs_inodes: Operand,
    imagefs: Operand,
    imagefs_inodes: Operand,
    containerfs: Operand,
    containerfs_inodes: Operand,
) -> Operand:
    """Return the layout by the capacities of the file systems, in bytes and inodes. Unknown inputs are 0."""
    return choose(
        _may_share_file_system(imagefs, imagefs_inodes, nodefs, nodefs_inodes),
        Layout.SINGLE,
        choose(
            _may_share_file_system(containerfs, containerfs_inodes, imagefs, imagefs_inodes),
            Layout.SEPARATE_IMAGEFS,
            Layout.SPLIT,
        ),
    )


_cached_layout: Final[Callable[..., Layout]] = lru_cache(8192)(layout)
"""The capacities of a node rarely change."""


def _may_share_file_system(one: Operand, one_inodes: Operand, other: Operand, other_inodes: Operand) -> Operand:
    is_unknown, are_inodes_unknown = (one == 0) | (other == 0), (one_inodes == 0) | (other_inodes == 0)
    return is_unknown | ((one == other) & (are_inodes_unknown | (one_inodes == other_inodes)))


def uncounted_memory(usage: Operand, total: Operand, free: Operand, anonymous: Operand, file: Operand) -> Operand:
    """Return the bytes in use that the kubelet does not count.

    Newer kubelets report anonymous memory plus page cache, without kernel memory. Older ones report everything that
    is not free, so nothing is missing. The formula that comes nearer to `usage` is taken, because the inputs were
    read some seconds apart.
    """
    is_all = abs(usage - (total - free)) < abs(usage - (anonymous + file))
    return choose(is_all, 0, most(total - free - anonymous - file, 0))


def held_back_memory(
    free: Operand, active_file: Operand, inactive_file: Operand, slab: Operand, available: Operand
) -> Operand:
    """Return how much of free, file-cache and slab memory MemAvailable leaves out."""
    return most(free + active_file + inactive_file + slab - available, 0)


CONSEQUENCES: Final = {
    "memory": "Nothing is evicted; once memory is used up, the kernel kills processes.",
    "ephemeral-storage": "Nothing is evicted; image GC still runs, and once the disk is full, every write fails.",
    "inodes": "Nothing is evicted; once no inode is free, no file can be created.",
    "pids": "Nothing is evicted; once no process ID is free, nothing can be started, not even by the kubelet.",
}
"""The consequence if a resource runs out without a threshold."""
LOW_PERCENT: Final = 5
"""Below this percentage of capacity a signal without a threshold is low."""


class Reading(NamedTuple):
    signal: str
    available: int
    capacity: int
    has_threshold: bool


def unguarded_of(readings: Iterable[Reading]) -> frozenset[str]:
    """Return the settable signals without a threshold, unless another signal of the same resource has one and may
    measure the same file system.
    """
    known = tuple(readings)
    return frozenset(
        one.signal
        for one in known
        if one.signal in SETTABLE and not any(other.has_threshold and _is_alike(other, one) for other in known)
    )


def _is_alike(one: Reading, other: Reading) -> bool:
    if one.signal == other.signal:
        return True
    if RESOURCES[one.signal] != RESOURCES[other.signal]:
        return False
    return bool(is_near(one.available, one.capacity, other.available, other.capacity))


def is_low(available: Operand, capacity: Operand, percent: Operand = LOW_PERCENT) -> Operand:
    """Tell whether so little is left that a signal without a threshold is reported."""
    return available * 100 < capacity * percent


def is_near(available: Operand, capacity: Operand, other_available: Operand, other_capacity: Operand) -> Operand:
    """Tell whether two readings can be of one file system; they can be some seconds apart."""
    return (capacity == other_capacity) & (abs(available - other_available) * 100 <= capacity)
