"""EvictionTooLate: from the threshold to nothing in less time than the kubelet needs, with swap and without."""

from typing import Any

import pytest

from components.alert_log import AlertLog
from components.rows import row
from streams.fold.findings import EvictionSignal, NodeStall

MIB = 1 << 20


def signal(**values: Any) -> EvictionSignal:
    """100 MiB are used up in 5 s, where the kubelet needs 12."""
    given = {
        "signal": "memory.available",
        "available": 2100 * MIB,
        "capacity": 16384 * MIB,
        "hard_threshold": 100 * MIB,
        "slope_per_second": -20.0 * MIB,
        "seconds_to_hard": 100.0,
    }
    return row(EvictionSignal, node="n", **(given | values))


def too_late(alerts: list[str]) -> list[str]:
    return [each for each in alerts if each.endswith("EvictionTooLate")]


def test_a_fall_that_outruns_the_kubelet_raises_it_at_once() -> None:
    log = AlertLog()
    assert too_late(log(0, signal())) == ["firing EvictionTooLate"]
    (summary,) = [each for each in log.summaries if "runs out" in each]
    assert summary == "Node n: memory runs out 5 s after eviction is due, but the kubelet needs up to 12 s"
    # twice what falls in 12 s
    assert any("raise the hard threshold; 480 MiB would" in each for each in log.descriptions)
    log(10, signal(slope_per_second=None, seconds_to_hard=None))
    assert too_late(log(130)) == ["resolved EvictionTooLate"]


def test_below_the_threshold_what_is_left_counts() -> None:
    log = AlertLog()
    # 240 MiB of a threshold of 1 GiB last 12 s, 239 do not
    assert too_late(log(0, signal(available=240 * MIB, hard_threshold=1024 * MIB, seconds_to_hard=0.0))) == []
    assert too_late(log(10, signal(available=239 * MIB, hard_threshold=1024 * MIB, seconds_to_hard=0.0)))


@pytest.mark.parametrize(
    "quiet",
    [
        {"slope_per_second": -8.0 * MIB},
        {"slope_per_second": None},
        {"seconds_to_hard": None},
        {"seconds_to_hard": 301.0},
        {"hard_threshold": None},
        {"signal": "nodefs.available"},
    ],
)
def test_it_is_silent_if_the_kubelet_is_in_time_or_that_is_unknown(quiet: dict[str, Any]) -> None:
    assert too_late(AlertLog()(0, signal(**quiet))) == []


def stall(**values: Any) -> NodeStall:
    return row(NodeStall, node="n", **({"swap_usage_bytes": MIB} | values))


def filling(log: AlertLog, pace: int = 10, available: int = 150, freed: int = 0, **values: Any) -> list[str]:
    """Fill 600 MiB of swap by `pace` MiB a second, of which `freed` MiB free memory."""
    found = []
    for seconds in range(0, 40, 10):
        memory = signal(
            available=(available + freed * seconds) * MIB,
            slope_per_second=None,
            seconds_to_hard=None,
            hard_threshold=values.get("hard_threshold", 100 * MIB),
        )
        swap = stall(**({"swap_available_bytes": (600 - pace * seconds) * MIB} | values.get("swap", {})))
        found += too_late(log(seconds, memory, *([] if values.get("unseen") else [swap])))
    return found


def test_while_swap_takes_what_is_needed_more_memory_and_swap_fall_together() -> None:
    log = AlertLog()
    # 100 MiB last 10 s once the 300 MiB of swap are full
    assert filling(log) == ["firing EvictionTooLate"]
    (summary,) = [each for each in log.summaries if "runs out" in each]
    late = "10 s after eviction is due, but the kubelet needs up to 12 s"
    assert summary == f"Node n: swap is full in 30 s, then memory runs out {late}"
    log(40, signal(slope_per_second=None, seconds_to_hard=None))
    assert too_late(log(160)) == ["resolved EvictionTooLate"]


@pytest.mark.parametrize(
    "quiet",
    [
        {"unseen": True},
        {"swap": {"swap_available_bytes": None}},
        {"swap": {"swap_usage_bytes": 0}},
        {"swap": {"swap_available_bytes": 600 * MIB}},
        {"hard_threshold": None},
        {"pace": 8},
        # what is above the threshold lasts 13 s: a pod at its own limit may swap as well
        {"available": 230},
        # nothing more is needed: what is swapped is free then
        {"freed": 10},
    ],
)
def test_filling_swap_is_no_sign_if_memory_may_be_ample_or_unknown(
    quiet: dict[str, Any],
) -> None:
    assert filling(AlertLog(), **quiet) == []
