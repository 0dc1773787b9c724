"""ImageGCInsufficientFreed: image GC that frees too little, and for how long usage keeps it firing."""

import pytest

from components.alert_log import AlertLog, at, image_gc, signal
from components.rows import row
from streams.fold.findings import KubeletSetting

FIRING = ["firing ImageGCInsufficientFreed"]
RESOLVED = ["resolved ImageGCInsufficientFreed"]


@pytest.mark.parametrize(
    ("verdict", "reason"), [("persistent", "delete_error"), ("insufficient_freed", "insufficient_freed")]
)
def test_image_gc_that_frees_too_little_raises_it(verdict: str, reason: str) -> None:
    assert AlertLog()(0, image_gc(0, verdict, reason)) == FIRING


def test_it_goes_on_while_usage_is_over_the_threshold() -> None:
    log = AlertLog()
    log(0, image_gc(0, "insufficient_freed", "insufficient_freed"))
    full = signal("imagefs.available", available=10, capacity=100)  # 90 % used, image GC begins at 85 %
    for seconds in range(10, 3000, 10):
        assert log(seconds, full) == []
    assert log(3000, full._replace(available=20)) == RESOLVED
    assert log.emitted[-1].ends_at is not None
    assert at(2980) < log.emitted[-1].ends_at <= at(3000)


def test_usage_is_counted_in_whole_percent_as_image_gc_does() -> None:
    # 15.9 % are available, cut to 15: 85 % used, which is at the threshold (rules: image-gc-loop)
    log = AlertLog()
    log(0, image_gc(0, "insufficient_freed", "insufficient_freed"))
    log(10, signal("imagefs.available", available=159, capacity=1000))
    assert log(400) == []
    log(410, signal("imagefs.available", available=160, capacity=1000))
    assert log(420) == []
    assert len(log.emitted) == 2


def test_other_settings_can_end_it() -> None:
    log = AlertLog()
    log(0, image_gc(0, "insufficient_freed", "insufficient_freed", high_percent=3))
    log(10, signal("imagefs.available", available=26, capacity=100))
    log(400, signal("imagefs.available", available=26, capacity=100))
    assert log(410, row(KubeletSetting, node="n", image_gc_high_percent=85)) == RESOLVED


def test_a_recovered_image_gc_is_resolved_at_once_despite_a_full_file_system() -> None:
    log = AlertLog()
    log(0, image_gc(0, "insufficient_freed", "insufficient_freed"))
    full = signal("imagefs.available", available=10, capacity=100)
    log(10, full)
    assert log(30, full, image_gc(0, "recovered", "insufficient_freed")) == RESOLVED


def test_another_failure_that_recovers_does_not_end_it() -> None:
    log = AlertLog()
    log(0, image_gc(0, "insufficient_freed", "insufficient_freed"), image_gc(0, "persistent", "invalid_capacity"))
    full = signal("imagefs.available", available=10, capacity=100)
    log(10, full)
    assert log(20, image_gc(0, "recovered", "invalid_capacity")) == ["resolved ImageGCInvalidCapacity"]
    assert log(400, full) == []


def test_it_remembers_nothing_when_it_is_over() -> None:
    log = AlertLog()
    log(0, image_gc(0, "insufficient_freed", "insufficient_freed"))
    log(10, signal("imagefs.available", available=50, capacity=100))
    log(400, signal("imagefs.available", available=50, capacity=100))
    log(410, signal("imagefs.available", available=10, capacity=100))
    assert log.state == type(log.state)(cluster="c", node="n", resolved=log.state.resolved)
