"""Finds the signals that no eviction threshold guards (rules: unguarded-signals)."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from streams.rules.eviction.signals import RESOURCES, SETTABLE

CONSEQUENCES: Final = {
    "memory": "Nothing is evicted; once memory is used up, the kernel kills processes.",
    "ephemeral-storage": "Nothing is evicted; image GC still runs, and once the disk is full, every write fails.",
    "inodes": "Nothing is evicted; once no inode is free, no file can be created.",
    "pids": "Nothing is evicted; once no process id is free, nothing can be started, not even by the kubelet.",
}
"""The consequence if a resource runs out without a threshold."""


class Reading(NamedTuple):
    """A signal of a sample."""

    signal: str
    available: int
    capacity: int
    has_threshold: bool


def unguarded_of(readings: Iterable[Reading]) -> frozenset[str]:
    """The signals of one sample that neither have a threshold nor another signal of their file system with one."""
    known = tuple(readings)
    return frozenset(
        one.signal
        for one in known
        if one.signal in SETTABLE and not any(other.has_threshold and _is_alike(other, one) for other in known)
    )


def _is_alike(one: Reading, other: Reading) -> bool:
    """Two readings of one file system can be some seconds apart."""
    is_near = one.capacity == other.capacity and abs(one.available - other.available) * 100 <= one.capacity
    return one.signal == other.signal or (RESOURCES[one.signal] == RESOURCES[other.signal] and is_near)
