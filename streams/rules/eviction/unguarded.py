"""Finds the signals that no eviction threshold guards (rules: unguarded-signals)."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from streams.rules.eviction.signals import RESOURCES, SETTABLE
from streams.rules.values.expressions import Amount

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
    """Return a sample's signals that have no threshold, on a file system where no other signal has one."""
    known = tuple(readings)
    return frozenset(
        one.signal
        for one in known
        if one.signal in SETTABLE and not any(other.has_threshold and _is_alike(other, one) for other in known)
    )


def _is_alike(one: Reading, other: Reading) -> bool:
    if one.signal == other.signal or RESOURCES[one.signal] != RESOURCES[other.signal]:
        return one.signal == other.signal
    return bool(is_near(one.available, one.capacity, other.available, other.capacity))


def is_low(available: Amount, capacity: Amount, percent: Amount = LOW_PERCENT) -> Amount:
    """Tell whether so little is left that a signal without a threshold is reported."""
    return available * 100 < capacity * percent


def is_near(available: Amount, capacity: Amount, other_available: Amount, other_capacity: Amount) -> Amount:
    """Tell whether two readings can be of one file system; they can be some seconds apart."""
    return (capacity == other_capacity) & (abs(available - other_available) * 100 <= capacity)
