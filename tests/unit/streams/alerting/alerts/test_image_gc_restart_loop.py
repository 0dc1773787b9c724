"""ImageGCRestartLoop: image GC fails at each start of a kubelet that restarts again and again."""

from components.alert_log import AlertLog, image_gc


def test_a_restart_loop_raises_it_and_no_other() -> None:
    log = AlertLog()
    assert log(0, image_gc(0, "restart_loop", "invalid_capacity", occurrences=4)) == ["firing ImageGCRestartLoop"]
    assert "image GC fails at every start of the kubelet (4 times)" in log.summaries[0]


def test_it_is_resolved_when_no_start_failed_for_so_long() -> None:
    log = AlertLog()
    log(0, image_gc(0, "restart_loop", "invalid_capacity"))
    log(300, image_gc(300, "restart_loop", "invalid_capacity"))
    assert log(1199) == []
    assert log(1200) == ["resolved ImageGCRestartLoop"]


def test_a_loop_that_is_long_over_raises_nothing() -> None:
    assert AlertLog()(3600, image_gc(0, "restart_loop", "invalid_capacity")) == []
