"""PressureOscillation: pressure that begins often enough within the window."""

from typing import Any

from components.alert_log import AlertLog, at, changed
from components.rows import row
from streams.fold.findings import PressureChange

ALONE = changed(NodePressureLasting={"enabled": False})


def began(seconds: float, *, status: bool = True, **values: Any) -> PressureChange:
    given = {"condition": "DiskPressure", "node": "n"} | values
    return row(PressureChange, ts=at(seconds), status=status, **given)


def test_pressure_that_comes_three_times_within_an_hour_oscillates() -> None:
    log = AlertLog(ALONE)
    assert log(0, began(0)) == []
    assert log(300, began(300, status=False)) == []
    assert log(600, began(600), began(600, evidence="both")) == []
    assert log(900, began(900, kubelet_restart=True)) == []
    assert log(1200, began(1200)) == ["firing PressureOscillation"]
    assert log.summaries == ["Node n: DiskPressure began 3 times within 20 min"]
    assert log(3599) == []
    assert log(3600) == ["resolved PressureOscillation"]
    assert log(3700, began(3700)) == ["firing PressureOscillation"]  # the third since 600
    assert log(9000, began(9000)) == ["resolved PressureOscillation"]


def test_conditions_oscillate_by_themselves() -> None:
    log = AlertLog(ALONE)
    log(0, began(0), began(0, condition="MemoryPressure"))
    assert log(600, began(600), began(600, condition="PIDPressure")) == []
    assert log(1200, began(1200)) == ["firing PressureOscillation"]
    assert log.labels[0]["condition"] == "DiskPressure"


def test_a_beginning_older_than_the_window_raises_nothing() -> None:
    log = AlertLog(ALONE)
    log(0, began(0))
    log(600, began(600))
    assert log(4800, began(1200)) == []
