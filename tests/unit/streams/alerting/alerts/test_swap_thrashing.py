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
    assert log.summaries == ["Node n: 1.00 GiB swapped, 500 pages a second read back, 2.00 GiB of swap is free"]
    log(70, stall(major_faults_per_second=10.0))
    assert log(190) == ["resolved SwapThrashing"]


def test_on_a_slow_disk_work_that_waits_for_memory_raises_it() -> None:
    """Recorded in `tests/scenarios/pod_stalls_recorded`: 187 faults a second was all that the disk gave."""
    log = AlertLog()
    slow = stall(major_faults_per_second=187.0, memory_some_percent=33.0)
    assert log(0, slow) == []
    assert log(60, slow) == ["firing SwapThrashing"]
    assert log.summaries == [
        "Node n: 1.00 GiB swapped, 187 pages a second read back, some work waits for memory 33 % of the time"
    ]


@pytest.mark.parametrize(
    "quiet",
    [
        {"swap_usage_bytes": 0},
        {"swap_usage_bytes": None},
        {"swap_usage_bytes": 499 * 4096},  # of 500 pages a second some at least are of files
        {"major_faults_per_second": 299.0},
        {"major_faults_per_second": None},
        {"major_faults_per_second": 299.0, "memory_some_percent": 19.0},
        {"major_faults_per_second": 0.0, "memory_some_percent": 50.0},  # what waits reads nothing back
    ],
)
def test_without_swap_or_without_faults_it_is_silent(quiet: dict[str, Any]) -> None:
    log = AlertLog()
    log(0, stall(**quiet))
    assert log(120, stall(**quiet)) == []
