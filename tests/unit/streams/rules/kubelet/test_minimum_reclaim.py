"""A swing of pressure is blamed on the minimum reclaim, and a minimum of nothing counts as absent."""

from datetime import UTC, datetime, timedelta

import pytest

from ingest.model.objects.node import KubeletConfiguration
from streams.rules.kubelet.settings import Kubelet, concerns

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("asked", "counts"), [("500Mi", True), ("5%", True), ("0Mi", False), ("0", False), (None, False)]
)
def test_a_minimum_reclaim_of_nothing_asks_for_nothing(asked: str | None, *, counts: bool) -> None:
    reclaim = None if asked is None else {"memory.available": asked}
    kubelet = Kubelet(
        now=NOW,
        config=KubeletConfiguration(eviction_minimum_reclaim=reclaim),
        version="v1.36.3",
        capacity={},
        allocatable={},
        settled=True,
        amplified=False,
        pressures={"MemoryPressure": tuple(NOW - timedelta(minutes=minutes) for minutes in (30, 20, 10))},
        daemon_sets=frozenset(),
        events={},
    )
    (problem,) = [each.problem for (_, subject), each in concerns(kubelet).items() if subject == "MemoryPressure"]
    assert ("asks for is soon used again" in problem) == counts
