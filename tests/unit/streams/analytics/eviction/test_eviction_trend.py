"""What acts first on a signal that falls."""

import pytest

from components.alert_log import signal
from streams.analytics.eviction.eviction_trend import _acts_first
from streams.fold.findings import EvictionSignal

HARD = signal(seconds_to_hard=300.0)
ALLOCATABLE = signal("allocatableMemory.available", seconds_to_hard=200.0)
DISK = signal("nodefs.available", seconds_to_hard=300.0)
IMAGES = signal("imagefs.available", seconds_to_hard=200.0)


@pytest.mark.parametrize(
    ("row", "others", "first"),
    [
        (HARD, [], "hard"),
        (HARD._replace(seconds_to_soft=100.0, soft_grace_seconds=90.0), [], "soft"),
        (HARD._replace(seconds_to_soft=100.0, soft_grace_seconds=210.0), [], "hard"),
        (HARD, [ALLOCATABLE], "allocatableMemory.available"),
        (HARD, [ALLOCATABLE._replace(seconds_to_hard=400.0)], "hard"),
        (HARD, [IMAGES], "hard"),
        (DISK, [IMAGES], "imagefs.available"),
        (DISK, [IMAGES._replace(capacity=1)], "hard"),  # a disk of its own
        (DISK._replace(gc_first=True), [IMAGES], "image_gc"),
    ],
)
def test_pods_are_evicted_once_for_all_signals_of_a_resource(
    row: EvictionSignal, others: list[EvictionSignal], first: str
) -> None:
    assert _acts_first(row, [row, *others]) == first
