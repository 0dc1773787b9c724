"""ContainerGCFailed: garbage collection of containers that fails again and again, by the counts of its Event."""

from typing import Any

from components.alert_log import AlertLog, at
from components.rows import row
from streams.fold.findings import NodeEvent

STUCK = "rpc error: code = DeadlineExceeded desc = context deadline exceeded"


def failure(seconds: float, occurrences: int = 1, **values: Any) -> NodeEvent:
    given = {"node": "n", "reason": "ContainerGCFailed", "object_kind": "Node", "message": STUCK}
    return row(NodeEvent, ts=at(seconds), occurrences=occurrences, **(given | values))


def test_the_third_failure_raises_it_with_what_the_kubelet_reported() -> None:
    log = AlertLog()
    log(0, failure(0))
    assert log(60, failure(60)) == []
    assert log(120, failure(120)) == ["firing ContainerGCFailed"]
    assert log.summaries == ["Node n: garbage collection of containers fails, 3 times"]
    assert log.descriptions[0].endswith(STUCK)


def test_a_count_that_grew_by_several_counts_as_several() -> None:
    assert AlertLog()(0, failure(0, 3)) == ["firing ContainerGCFailed"]


def test_a_container_runtime_that_restarts_raises_nothing() -> None:
    log = AlertLog()
    log(0, failure(0))
    log(60, failure(60))
    log(800, failure(800))
    assert log.emitted == []


def test_dropped_events_do_not_resolve_it() -> None:
    log = AlertLog()
    log(0, failure(0, 3))
    log(600, failure(600))
    assert log(1259) == []
    assert log(1260) == ["resolved ContainerGCFailed"]


def test_another_object_or_an_old_event_raises_nothing() -> None:
    log = AlertLog()
    assert log(0, failure(0, 9, object_kind="Pod")) == []
    assert log(0, failure(0, 9, reason="ImageGCFailed")) == []
    assert log(3600, failure(0, 9)) == []
