"""The arithmetic of the kubelet's image garbage collection (rules: image-gc-loop).

Functions of an `Operand` take numbers or columns of a view (`streams.rules.values.expressions`).
"""

from datetime import timedelta
from typing import Final, Literal, NamedTuple, TypeAlias

from streams.rules.eviction import signals
from streams.rules.eviction.signals import Layout
from streams.rules.values.expressions import Operand, choose, least, most

DEFAULT_HIGH_PERCENT: Final = 85
DEFAULT_LOW_PERCENT: Final = 80
REGISTERS: Final = timedelta(minutes=1)
"""A kubelet can report this long before it creates its Node; older facts are about an earlier node of that name."""

Verdict: TypeAlias = Literal["disabled", "invalid_capacity", "below_high", "free"]
"""`disabled` never runs. `invalid_capacity` is a run that fails, as the capacity is 0. `below_high` has nothing to
do. `free` deletes images until usage is down at the low threshold.
"""


class ImageGcDecision(NamedTuple):
    """The decision of one run of image GC for space, leaving out the deletion of images by age (since 1.29)."""

    verdict: Verdict
    usage_percent: int | None
    """None if the capacity is 0."""
    wanted_bytes: int
    """Bytes to free; 0 unless the verdict is `free`."""


def usage_percent(available_bytes: int | None, capacity_bytes: int | None) -> int | None:
    """Return the percentage of the image file system in use, rounded up as by the kubelet; None for capacity 0.

    A missing value counts as 0, and `available_bytes` as at most the capacity.
    """
    capacity = capacity_bytes or 0
    return int(percent_used(available_bytes or 0, capacity)) if capacity > 0 else None


def percent_used(available: Operand, capacity: Operand) -> Operand:
    """Return 100 minus the whole percents that are available, as the kubelet does. Capacity 0 counts as 1."""
    return 100 - _available(available, capacity) * 100 // most(1, capacity)


def wanted_bytes(available: Operand, capacity: Operand, low_percent: Operand) -> Operand:
    """Return the bytes to free until usage is at the low threshold; negative below it."""
    return capacity * (100 - low_percent) // 100 - _available(available, capacity)


def verdict(percent: Operand, capacity: Operand, high_percent: Operand, maximum_age_seconds: Operand) -> Operand:
    """Return the `Verdict`, by usage and capacity of the image file system."""
    return choose(
        is_disabled(high_percent, maximum_age_seconds),
        "disabled",
        choose(capacity > 0, choose(percent < high_percent, "below_high", "free"), "invalid_capacity"),
    )


def decide(
    available_bytes: int | None,
    capacity_bytes: int | None,
    high_percent: int = DEFAULT_HIGH_PERCENT,
    low_percent: int = DEFAULT_LOW_PERCENT,
    maximum_age_seconds: float = 0,
) -> ImageGcDecision:
    """Decide like a run of image GC with these readings of the image file system."""
    available, capacity = available_bytes or 0, capacity_bytes or 0
    percent = usage_percent(available, capacity)
    found = verdict(percent or 0, capacity, high_percent, maximum_age_seconds)
    wanted = max(0, wanted_bytes(available, capacity, low_percent)) if found == "free" else 0
    return ImageGcDecision(found, percent, wanted)


def is_disabled(high_percent: Operand, maximum_age_seconds: Operand = 0) -> Operand:
    """Tell whether image GC never runs; a maximum age (1.29 and later) keeps it running even at 100 percent."""
    return (high_percent == 100) & (maximum_age_seconds == 0)  # noqa: PLR2004  # percent


def gc_threshold_available_bytes(capacity_bytes: int, high_percent: int) -> int:
    """Return the available bytes below which image GC frees space, exact for the kubelet's integer division.

    Usage is rounded up to whole percents: 84.01 % counts as 85. So with a high threshold of 85 it begins when less
    than 16 % is available.
    """
    return -(-capacity_bytes * (101 - high_percent) // 100)


def acts_before_eviction(signal: str, layout: Layout, eviction_threshold: int, gc_threshold_bytes: int) -> bool:
    """Tell whether image GC begins before the eviction threshold is met, when `signal` falls (`gc_first`).

    Both thresholds are bytes below which the action begins. Image GC watches the bytes of the image file system
    alone. Another file system's signal counts only if `layout` makes it the same one.
    """
    return signal in _IMAGE_FILE_SYSTEM[layout] and gc_threshold_bytes > eviction_threshold


_IMAGE_FILE_SYSTEM: Final = {
    Layout.SINGLE: frozenset({signals.NODEFS_AVAILABLE, signals.IMAGEFS_AVAILABLE, signals.CONTAINERFS_AVAILABLE}),
    Layout.SEPARATE_IMAGEFS: frozenset({signals.IMAGEFS_AVAILABLE, signals.CONTAINERFS_AVAILABLE}),
    Layout.SPLIT: frozenset({signals.IMAGEFS_AVAILABLE}),
}


def _available(available: Operand, capacity: Operand) -> Operand:
    return most(0, least(available, capacity))
