"""ImageGCInvalidCapacity: image GC that cannot even begin, and the switch for every InvalidDiskCapacity."""

import pytest

from components.alert_log import AlertLog, at, changed, image_gc
from components.rows import row
from streams.fold.findings import NodeEvent

FIRING = ["firing ImageGCInvalidCapacity"]
EVENT = row(NodeEvent, ts=at(0), node="n", reason="InvalidDiskCapacity", message="invalid capacity 0", occurrences=1)
EVERY = changed(ImageGCInvalidCapacity={"every_invalid_disk_capacity": True})


@pytest.mark.parametrize("reason", ["invalid_capacity", "stats_error"])
def test_a_failure_run_after_run_raises_it(reason: str) -> None:
    assert AlertLog()(0, image_gc(0, "persistent", reason)) == FIRING


@pytest.mark.parametrize("verdict", ["benign_startup", "recovered"])
def test_image_gc_that_healed_itself_raises_nothing(verdict: str) -> None:
    log = AlertLog()
    assert log(0, image_gc(0, verdict, "invalid_capacity")) == []
    assert log(60) == []


def test_image_gc_that_recovers_is_resolved_at_once() -> None:
    log = AlertLog()
    log(0, image_gc(0, "persistent", "invalid_capacity"))
    assert log(30, image_gc(0, "recovered", "stats_error")) == []
    assert log(30, image_gc(0, "recovered", "invalid_capacity")) == ["resolved ImageGCInvalidCapacity"]


def test_the_setting_for_every_invalid_disk_capacity_is_followed() -> None:
    assert AlertLog()(0, EVENT) == []
    log = AlertLog(EVERY)
    assert log(0, EVENT) == FIRING
    assert log(1, image_gc(0, "benign_startup", "invalid_capacity")) == []
    assert log(660) == ["resolved ImageGCInvalidCapacity"]
    assert AlertLog(EVERY)(0, EVENT._replace(occurrences=0)) == []
    assert AlertLog(EVERY)(0, EVENT._replace(reason="Rebooted")) == []


def test_a_verdict_keeps_its_words_when_one_more_event_comes() -> None:
    log = AlertLog(EVERY)
    log(0, EVENT)
    log(
        60,
        image_gc(60, "persistent", "invalid_capacity", occurrences=2, explanation="Capacity 0 twice."),
        new_minute=True,
    )
    log(120, EVENT._replace(ts=at(120)), new_minute=True)
    assert log.descriptions[-1] == "Capacity 0 twice."
    assert len(log.emitted) == 2
