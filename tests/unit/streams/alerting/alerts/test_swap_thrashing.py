"""SwapThrashing: swap in use and pages read back; either alone is none."""

from typing import Any

import pytest

from components.alert_log import AlertLog
from components.rows import row
from streams.fold.findings import NodeStall

GIB = 1 << 30


def stall(**values: Any) -> NodeStall:
    return row(NodeStall, node="n", **({"swap_usage_bytes": GIB, "major_faults_per_second": 500.0} | values))


def test_swapping_for_a_minute_raises_it() -> None:
    log = AlertLog()
    assert log(0, stall(swap_available_bytes=2 * GIB)) == []
    assert log(60, stall(swap_available_bytes=2 * GIB)) == ["firing SwapThrashing"]
    assert log.summaries == ["Node n: 1.00 GiB are swapped, 500 pages a second read back, 2.00 GiB of swap is free"]
    log(70, stall(major_faults_per_second=10.0))
    assert log(190) == ["resolved SwapThrashing"]


@pytest.mark.parametrize(
    "quiet",
    [
        {"swap_usage_bytes": 0},
        {"swap_usage_bytes": None},
        {"major_faults_per_second": 299.0},
        {"major_faults_per_second": None},
    ],
)
def test_without_swap_or_without_faults_it_is_silent(quiet: dict[str, Any]) -> None:
    log = AlertLog()
    log(0, stall(**quiet))
    assert log(120, stall(**quiet)) == []
