"""The arithmetic of the kubelet's image garbage collection (rules: image-gc-loop)."""

from typing import Final, Literal, NamedTuple, TypeAlias

from streams.rules.eviction import signals
from streams.rules.eviction.signals import Layout

DEFAULT_HIGH_PERCENT: Final = 85
DEFAULT_LOW_PERCENT: Final = 80

Verdict: TypeAlias = Literal["disabled", "invalid_capacity", "below_high", "free"]
"""`free`: usage has reached the high threshold, images are deleted down to the low one."""


class ImageGcDecision(NamedTuple):
    """The decision of one run of image GC for space, without deletion by age (1.29 and later)."""

    verdict: Verdict
    usage_percent: int | None
    """None where the capacity is 0."""
    wanted_bytes: int
    """To free; 0 unless the verdict is `free`."""


def usage_percent(available_bytes: int | None, capacity_bytes: int | None) -> int | None:
    """Percent of the image file system in use, by the kubelet's integer division; None for capacity 0.

    A missing value counts as 0, and `available_bytes` as at most the capacity.
    """
    capacity = capacity_bytes or 0
    if capacity <= 0:
        return None
    return 100 - _available(available_bytes, capacity) * 100 // capacity


def wanted_bytes(available_bytes: int | None, capacity_bytes: int, low_percent: int) -> int:
    """Bytes to free until usage is down at the low threshold; 0 or less where it already is."""
    return capacity_bytes * (100 - low_percent) // 100 - _available(available_bytes, capacity_bytes)


def decide(
    available_bytes: int | None,
    capacity_bytes: int | None,
    high_percent: int = DEFAULT_HIGH_PERCENT,
    low_percent: int = DEFAULT_LOW_PERCENT,
    maximum_age_seconds: float = 0,
) -> ImageGcDecision:
    """Decide like a run of image GC with these readings of the image file system."""
    percent = usage_percent(available_bytes, capacity_bytes)
    if is_disabled(high_percent, maximum_age_seconds):
        return ImageGcDecision("disabled", percent, 0)
    if percent is None or capacity_bytes is None:
        return ImageGcDecision("invalid_capacity", None, 0)
    if percent < high_percent:
        return ImageGcDecision("below_high", percent, 0)
    return ImageGcDecision("free", percent, max(0, wanted_bytes(available_bytes, capacity_bytes, low_percent)))


def is_disabled(high_percent: int, maximum_age_seconds: float = 0) -> bool:
    """Tell whether image GC is never started; a maximum age (1.29 and later) keeps it running even at 100 percent."""
    return high_percent == 100 and maximum_age_seconds == 0  # noqa: PLR2004  # percent


def gc_threshold_available_bytes(capacity_bytes: int, high_percent: int) -> int:
    """The available bytes below which image GC frees space, exact for the kubelet's integer division.

    Usage is rounded up to whole percents, so at a high threshold of 85 it begins below 16 % available.
    """
    return -(-capacity_bytes * (101 - high_percent) // 100)


def acts_before_eviction(signal: str, layout: Layout, eviction_threshold: int, gc_threshold_bytes: int) -> bool:
    """Tell whether falling `signal` meets image GC before its eviction threshold (`gc_first`).

    Both thresholds are bytes below which the action begins. Image GC watches only the bytes of the image file
    system: never inodes or memory, and another file system only if `layout` makes it the same.
    """
    return signal in _IMAGE_FILE_SYSTEM[layout] and gc_threshold_bytes > eviction_threshold


_IMAGE_FILE_SYSTEM: Final = {
    Layout.SINGLE: frozenset({signals.NODEFS_AVAILABLE, signals.IMAGEFS_AVAILABLE, signals.CONTAINERFS_AVAILABLE}),
    Layout.SEPARATE_IMAGEFS: frozenset({signals.IMAGEFS_AVAILABLE, signals.CONTAINERFS_AVAILABLE}),
    Layout.SPLIT: frozenset({signals.IMAGEFS_AVAILABLE}),
}


def _available(available_bytes: int | None, capacity_bytes: int) -> int:
    return max(0, min(available_bytes or 0, capacity_bytes))
