"""The message of an eviction names a threshold."""

from typing import Final

import pytest

from ingest.model.objects.node import KubeletConfiguration
from streams.rules.eviction.thresholds import effective_thresholds, threshold_kind

MIB: Final = 1024**2
CAPACITY: Final = 100_000_000_000
THRESHOLDS: Final = effective_thresholds(
    KubeletConfiguration(
        eviction_hard={"memory.available": "100Mi", "nodefs.available": "10%", "imagefs.inodesFree": "1000"},
        eviction_soft={
            "memory.available": "1Gi",
            "nodefs.available": "15%",
            "pid.available": "5%",
            "imagefs.inodesFree": "5%",
        },
        eviction_soft_grace_period={
            "memory.available": "90s",
            "nodefs.available": "2m",
            "pid.available": "1m",
            "imagefs.inodesFree": "1m",
        },
    )
).by_signal


@pytest.mark.parametrize(
    ("signal", "threshold", "capacities", "kind"),
    [
        ("memory.available", 100 * MIB, {}, "hard"),
        ("memory.available", 1024 * MIB, {}, "soft"),
        ("memory.available", 500 * MIB, {}, ""),  # settings have changed since
        ("memory.available", None, {}, ""),
        ("nodefs.available", CAPACITY // 10, {"nodefs.available": CAPACITY}, "hard"),
        ("nodefs.available", CAPACITY * 15 // 100, {"nodefs.available": CAPACITY}, "soft"),
        ("nodefs.available", CAPACITY // 10, {}, ""),  # of an unknown capacity
        ("pid.available", 1638, {"pid.available": 32768}, "soft"),
        ("imagefs.available", 1, {"imagefs.available": CAPACITY}, ""),  # no threshold
        ("", 100 * MIB, {}, ""),
        ("imagefs.inodesFree", 1000, {"imagefs.inodesFree": 20_000}, ""),  # 1000 and 5 % of it
    ],
)
def test_the_threshold_in_bytes_shows_whether_it_is_the_hard_or_the_soft_one(
    signal: str, threshold: int | None, capacities: dict[str, int], kind: str
) -> None:
    assert threshold_kind(signal, threshold, THRESHOLDS, capacities) == kind
