"""NodePressureLasting: pressure that does not end, with or without a known threshold."""

from typing import Any

import pytest

from components.alert_log import AlertLog, at, changed
from components.rows import row
from streams.fold.findings import PressureChange


def pressure(seconds: float, condition: str = "DiskPressure", **values: Any) -> PressureChange:
    given = {"node": "n", "status": True, "evidence": "condition"}
    return row(PressureChange, ts=at(seconds), condition=condition, **(given | values))


@pytest.mark.parametrize("condition", ["MemoryPressure", "DiskPressure", "PIDPressure"])
def test_pressure_that_lasts_raises_it_without_any_threshold(condition: str) -> None:
    log = AlertLog()
    log(0, pressure(0, condition))
    assert log(599) == []
    assert log(600) == ["firing NodePressureLasting"]
    assert log.labels[0]["condition"] == condition
    assert log.summaries == [f"Node n: {condition} since 2026-07-01 12:00:00 UTC"]
    log(700, pressure(700, condition, status=False, lasted_seconds=700.0))
    assert log(820) == ["resolved NodePressureLasting"]


def test_pressure_that_began_long_before_it_was_first_seen_raises_it_at_once() -> None:
    assert AlertLog()(7200, pressure(0)) == ["firing NodePressureLasting"]


def test_pressure_that_ends_within_its_transition_period_raises_nothing() -> None:
    log = AlertLog()
    log(0, pressure(0))
    log(330, pressure(330, status=False))
    assert log(3600) == []


def test_reports_of_a_starting_kubelet_are_not_pressure() -> None:
    log = AlertLog(changed(NodePressureLasting={"for": "0s"}))
    assert log(0, pressure(0, status=False, kubelet_restart=True)) == []


def test_two_conditions_are_two_alerts() -> None:
    log = AlertLog()
    assert len(log(3600, pressure(0), pressure(0, "MemoryPressure"))) == 2
