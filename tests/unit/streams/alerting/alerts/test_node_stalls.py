"""NodeStalls: all work stands still for memory or I/O, for long enough; silent without PSI."""

from typing import Any

from components.alert_log import AlertLog
from components.rows import row
from streams.fold.findings import NodeStall


def stall(**values: Any) -> NodeStall:
    return row(NodeStall, node="n", **values)


def test_memory_and_io_are_alerts_of_their_own() -> None:
    log = AlertLog()
    both = stall(memory_full_percent=12.0, memory_some_percent=30.0, io_full_percent=60.0)
    assert log(0, both) == []
    assert log(60, both) == ["firing NodeStalls", "firing NodeStalls"]
    assert [labels["resource"] for labels in log.labels] == ["memory", "io"]
    assert log.summaries[0] == ("Node n: work stalled on memory for 12 % of a minute; some tasks waited for 30 %")


def test_a_burst_raises_nothing() -> None:
    log = AlertLog()
    log(0, stall(memory_full_percent=50.0))
    log(10, stall(memory_full_percent=9.0))
    assert log(200) == []


def test_partial_stalls_raise_no_alert() -> None:
    log = AlertLog()
    log(0, stall(memory_some_percent=90.0, memory_full_percent=1.0, io_some_percent=100.0, io_full_percent=39.0))
    assert log(120) == []


def test_without_psi_it_ends_instead_of_going_on_for_ever() -> None:
    log = AlertLog()
    log(0, stall(memory_full_percent=50.0))
    assert log(60, stall(memory_full_percent=50.0)) == ["firing NodeStalls"]
    log(70, stall())
    assert log(190) == ["resolved NodeStalls"]
