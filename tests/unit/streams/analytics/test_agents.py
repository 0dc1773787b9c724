"""Agents that fall silent: rows of `source_errors` on the cluster's log, and the alert StreamStalled."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from components.rows import T0
from ingest.model.objects.node import Node, NodeMetadata
from ingest.model.records import HeartbeatRecord, NodeRecord, ObjectChange, Record
from streams.analytics.registry import REDUCERS
from streams.fold.findings import Alert, SourceError
from streams.fold.fold import Fold, LogState


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def watch(seconds: float, resource: str = "nodes") -> HeartbeatRecord:
    return HeartbeatRecord(ts=at(seconds), cluster="c", resource=resource)


def agent(seconds: float, node: str = "n") -> HeartbeatRecord:
    return HeartbeatRecord(ts=at(seconds), cluster="c", resource="agent", target=node)


def node(seconds: float, change: ObjectChange) -> NodeRecord:
    return NodeRecord(ts=at(seconds), cluster="c", change=change, object=Node(NodeMetadata("n", uid="u")))


class ClusterLog:
    def __init__(self) -> None:
        self._fold = Fold(REDUCERS)
        self._log = LogState()
        self.rows: list[Any] = []

    def __call__(self, *records: Record) -> "ClusterLog":
        for record in records:
            self.rows += self._fold.step(self._log, record)
        return self

    @property
    def silences(self) -> Sequence[tuple[str, float, float]]:
        """Node, when it was reported, and for how long it had been silent."""
        rows = [row for row in self.rows if isinstance(row, SourceError)]
        assert {(row.resource, row.kind) for row in rows} <= {("agent", "silent")}
        return [(row.node, (row.ts - T0).total_seconds(), row.silent_seconds or 0.0) for row in rows]

    @property
    def alerts(self) -> Sequence[tuple[str, str, str]]:
        return [(row.status, row.alertname, row.node) for row in self.rows if isinstance(row, Alert)]


def minutes(first: int, last: int) -> list[HeartbeatRecord]:
    return [watch(60.0 * minute) for minute in range(first, last)]


def test_only_an_agent_silent_for_two_minutes_gets_a_row_and_an_alert() -> None:
    log = ClusterLog()
    for minute in range(12):
        log(watch(60 * minute), agent(60 * minute + 5, "other"))
        if minute < 2:
            log(agent(60 * minute + 10))
    assert log.silences == [("n", 190, 120), ("n", 310, 240), ("n", 550, 480)]
    assert log.alerts == [("firing", "StreamStalled", "n")]


def test_a_silence_that_is_found_late_has_the_same_rows() -> None:
    late = ClusterLog()(watch(0), agent(10), watch(600)).silences
    assert late == ClusterLog()(watch(0), agent(10), *minutes(1, 11)).silences


def test_an_agent_that_reports_again_has_not_stalled_any_more() -> None:
    log = ClusterLog()(watch(0), agent(10), *minutes(1, 10))
    for minute in range(10, 18):
        log(agent(60 * minute), watch(60 * minute + 1))
    assert log.alerts == [("firing", "StreamStalled", "n"), ("resolved", "StreamStalled", "n")]


def test_a_wrong_agent_clock_makes_no_agent_silent() -> None:
    log = ClusterLog()
    for minute in range(12):
        log(watch(60 * minute), agent(60 * minute - 86_400, "slow"), agent(60 * minute + 86_400, "fast"))
        log(agent(60 * minute + 1))
    assert log.silences == []


def test_nothing_is_expected_of_the_agent_of_a_deleted_node_until_the_node_is_made_anew() -> None:
    log = ClusterLog()(watch(0), node(1, "ADDED"), agent(10), node(20, "DELETED"), agent(25), *minutes(1, 30))
    assert log.silences == []
    log(node(1800, "ADDED"), agent(1805), *minutes(31, 34))
    assert log.silences == [("n", 1925, 120)]


def test_an_agent_that_was_taken_away_is_forgotten_after_a_day() -> None:
    log = ClusterLog()(watch(0), agent(0), *minutes(1, 24 * 60 + 2))
    before = len(log.silences)
    log(*minutes(24 * 60 + 2, 60 * 60))
    assert len(log.silences) == before == 10  # 2 minutes doubled ten times is more than a day
