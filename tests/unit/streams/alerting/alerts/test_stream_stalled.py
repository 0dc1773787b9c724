"""StreamStalled: silence that lasts, failures in a row, and sources that are heard again."""

from typing import Any

from components.alert_log import AlertLog, at, signal
from components.rows import row
from streams.fold.findings import SourceError

FIRING = ["firing StreamStalled"]
RESOLVED = ["resolved StreamStalled"]


def failed(seconds: float, kind: str = "unreadable", resource: str = "stats/summary", **values: Any) -> SourceError:
    return row(SourceError, ts=at(seconds), node="n", resource=resource, kind=kind, error="refused", **values)


def test_a_silent_stream_has_stalled_until_its_silence_should_have_doubled() -> None:
    log = AlertLog()
    assert log(0, failed(0, "silent", "events", silent_seconds=60.0)) == []
    assert log(120, failed(120, "silent", "events", silent_seconds=180.0)) == FIRING
    assert "events has been silent since 2026-07-01 11:59:00 UTC" in log.summaries[0]
    assert log(300, failed(300, "silent", "events", silent_seconds=360.0)) == []
    assert log(959) == []  # 300 + 360, and five minutes
    assert log(960) == RESOLVED


def test_a_kubelet_that_reports_again_has_not_stalled_any_more() -> None:
    log = AlertLog()
    log(0, failed(0, "silent", silent_seconds=600.0))
    log(10, signal())
    assert log(309, signal()) == []
    assert log(310, signal()) == RESOLVED


def test_a_source_that_fails_again_and_again_has_stalled_and_a_restart_has_not() -> None:
    log = AlertLog()
    assert log(0, failed(0), failed(5), failed(9)) == []
    assert log(60, failed(60)) == []
    assert log(120, failed(120)) == FIRING
    restarts = AlertLog()
    for seconds in range(0, 3000, 500):
        assert restarts(seconds, failed(seconds)) == []
        assert restarts(seconds + 10, signal()) == []


def test_failures_that_are_too_far_apart_are_not_in_a_row() -> None:
    log = AlertLog()
    for seconds in range(0, 9000, 1000):
        assert log(seconds, failed(seconds, resource="pods")) == []


def test_a_gap_is_over_when_it_is_reported() -> None:
    assert AlertLog()(0, failed(0, "gap"), failed(200, "gap"), failed(300, "gap")) == []


def test_a_cluster_s_own_stream_stalls_too() -> None:
    log = AlertLog(node="")
    assert log(0, failed(0, "silent", "nodes", silent_seconds=180.0)._replace(node="")) == FIRING
    assert log.summaries[0].startswith("Cluster c: nodes has been silent since")
