"""A Node that offers something else than its kubelet's settings leave is a finding; a rounding is not."""

from datetime import UTC, datetime

import pytest

from ingest.model.objects.node import KubeletConfiguration
from streams.rules.kubelet.settings import Kubelet, concerns

CAPACITY = {"cpu": 4000, "memory": 16 << 30, "ephemeral-storage": 100 << 30}
HARD = {"memory.available": "1Gi", "nodefs.available": "10Gi"}
LEFT = {"cpu": 4000, "memory": 15 << 30, "ephemeral-storage": 90 << 30}


@pytest.mark.parametrize(
    ("resource", "less", "differs"),
    [
        ("memory", 0, False),
        ("memory", 1 << 20, False),
        ("memory", 2 << 20, True),
        ("ephemeral-storage", 477, False),  # a percentage of a capacity that was measured again
        ("cpu", 1, True),  # millicores are exact
    ],
)
def test_allocatable_that_contradicts_settings_by_a_mebibyte_is_found(
    resource: str, less: int, *, differs: bool
) -> None:
    kubelet = Kubelet(
        now=datetime(2026, 7, 1, 12, tzinfo=UTC),
        config=KubeletConfiguration(eviction_hard=HARD),
        version="v1.36.3",
        capacity=CAPACITY,
        allocatable=LEFT | {resource: LEFT[resource] - less},
        settled=True,
        amplified=False,
        pressures={},
        daemon_sets=frozenset(),
        events={},
    )
    found = [subject for (rule, subject) in concerns(kubelet) if rule == "allocatable_differs"]
    assert found == ([resource] if differs else [])
