"""Alerts of logs that got nothing for an hour: they end as unknown, at the same time in every runtime."""

from itertools import pairwise
from typing import Any

import pytest

from components.alert_log import AlertLog, at, signal, skew
from components.rows import row
from ingest.model.objects.node import Node, NodeMetadata
from ingest.model.records import HeartbeatRecord, NodeRecord, Record
from streams.analytics.registry import REDUCERS
from streams.fold.findings import Alert, SourceError
from streams.fold.fold import Fold, LogKey, LogState

HOUR = 3600.0


def clock(seconds: float) -> HeartbeatRecord:
    return HeartbeatRecord(ts=at(seconds), cluster="c", node="n", resource="nodes")


def near(seconds: float) -> Any:
    return signal(hard_met=True, seconds_to_hard=0.0, ts=at(seconds))


def silence(seconds: float, silent_seconds: float) -> SourceError:
    given: Any = {"resource": "stats/summary", "kind": "silent", "silent_seconds": silent_seconds}
    return row(SourceError, ts=at(seconds), node="n", **given)


def firing() -> AlertLog:
    """EvictionThresholdNear, since 0."""
    log = AlertLog()
    log(0, near(0))
    assert [alert.status for alert in log.emitted] == ["firing"]
    return log


def ends(log: AlertLog) -> list[tuple[str, float]]:
    return [(each.reason, (each.ts - at(0)).total_seconds()) for each in log.emitted if each.status == "resolved"]


def test_a_firing_alert_without_data_ends_as_unknown_not_as_resolved() -> None:
    log = firing()
    assert log.record(clock(HOUR - 1)) == []
    assert log.record(clock(HOUR + 500)) == ["resolved EvictionThresholdNear"]
    assert ends(log) == [("unknown", HOUR)]
    assert log.summaries[-1].startswith("No data since 2026-07-01 12:00:00 UTC: ")
    assert "its current state is unknown" in log.descriptions[-1]
    assert log.record(clock(3 * HOUR)) == []


@pytest.mark.parametrize("clocks", [(), (HOUR,), (HOUR + 700, 2 * HOUR)], ids=str)
def test_an_alert_that_still_holds_when_data_returns_is_a_new_episode(clocks: tuple[float, ...]) -> None:
    """The cluster's time on the log changes nothing."""
    log = firing()
    for seconds in clocks:
        log.record(clock(seconds))
    log(3 * HOUR, near(3 * HOUR))
    log.record(clock(2 * HOUR))
    assert ends(log) == [("unknown", HOUR)]
    first, second = [alert for alert in log.emitted if alert.status == "firing"]
    assert first.fingerprint == second.fingerprint
    assert (first.starts_at, second.starts_at) == (at(0), at(3 * HOUR))


def test_what_is_over_when_data_comes_back_does_not_fire_again() -> None:
    log = firing()
    log(3 * HOUR, signal())
    log(4 * HOUR - 1, signal())
    assert [alert.status for alert in log.emitted] == ["firing", "resolved"]
    assert ends(log) == [("unknown", HOUR)]


def test_a_condition_that_is_reported_only_when_it_changes_goes_on_with_data() -> None:
    log = AlertLog()
    log(0, skew(skew_ratio=0.9, stranded_cpus=8, explanation="e"))
    log(HOUR / 2, new_minute=True)
    assert [alert.status for alert in log.emitted] == ["firing"]
    log(3 * HOUR, signal(), new_minute=True)
    log(4 * HOUR - 1, signal(), new_minute=True)
    assert [alert.status for alert in log.emitted] == ["firing", "resolved", "firing"]
    assert log.emitted[-1].starts_at >= at(3 * HOUR)


def test_reports_that_a_source_is_silent_are_no_data_and_their_own_alert_goes_on() -> None:
    log = firing()
    for first, second in pairwise(120.0 * 2**power for power in range(7)):
        log(first, silence(first, first))
        log.record(clock(second - 1))
    assert ends(log) == [("unknown", HOUR)]
    standing = {each.alertname: each.status for each in log.emitted}
    assert standing == {"EvictionThresholdNear": "resolved", "StreamStalled": "firing"}


def test_a_stall_whose_reports_ended_too_does_not_fire_for_ever() -> None:
    log = AlertLog()
    log(0, silence(0, 600.0))
    assert log.record(clock(HOUR + 599)) == []
    assert log.record(clock(HOUR + 600)) == ["resolved StreamStalled"]


def test_a_deleted_node_is_another_reason() -> None:
    log = firing()
    fold = Fold(REDUCERS)
    deleted = NodeRecord(ts=at(10), cluster="c", node="n", change="DELETED", object=Node(NodeMetadata("n", uid="u")))
    for output in fold.step(LogState(), deleted):
        if not isinstance(output, Alert | Record):
            log(10, output)  # type: ignore[arg-type]  # rows alone are left
    assert ends(log) == [("deleted", 10)]


def test_the_log_of_each_node_learns_the_time_once_in_ten_minutes_and_it_is_not_its_own_time() -> None:
    fold, cluster = Fold(REDUCERS), LogState()
    names = [f"node-{number}" for number in range(100)]
    for name in names:
        fold.step(
            cluster, NodeRecord(ts=at(0), cluster="c", change="ADDED", object=Node(NodeMetadata(name, uid=name)))
        )
    clocks: list[HeartbeatRecord] = []
    for minute in range(20):
        heard = [HeartbeatRecord(ts=at(60.0 * minute + 7), cluster="c", resource=each) for each in ("nodes", "pods")]
        found = [each for one in heard for each in fold.step(cluster, one) if isinstance(each, HeartbeatRecord)]
        assert len(found) < 30  # not all at once
        clocks += found
    assert sorted(each.node for each in clocks) == sorted(names * 2)
    log = LogState(minute=1)
    fold.step(log, clocks[-1])
    assert log.minute == 1
    assert LogKey("c", clocks[-1].node).node in names
