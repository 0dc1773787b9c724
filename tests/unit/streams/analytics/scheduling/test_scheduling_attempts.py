"""A scheduler's log shows attempts, failures, and lists that have a node twice (rules: scheduler-log)."""

from collections.abc import Sequence
from typing import Any

import pytest

from ingest.model.records import SchedulingAttemptRecord
from ingest.model.scheduler import Attempt
from streams.analytics.scheduling.cluster_nodes import State
from streams.analytics.scheduling.scheduling import REDUCER
from streams.fold.findings import SchedulerBlindSpot, SchedulingAttempt, SchedulingFailure
from unit.streams.analytics.scheduling.test_scheduling import MASTERS, at, node, pod

TEXT = "0/4 nodes are available: 4 Insufficient cpu."


def attempt(seconds: float = 180, **given: Any) -> SchedulingAttemptRecord:
    return SchedulingAttemptRecord(ts=at(seconds), cluster="stage", attempt=Attempt(**({"pod": "ns/p"} | given)))


def rows(*records: Any) -> list[Any]:
    state, found = State(), list[Any]()
    for record in [*(node(name, zone=zone) for name, zone in MASTERS.items()), *records]:
        state, more = REDUCER.step(state, record)
        found += more
    return found


def test_an_attempt_has_a_row_for_each_scored_node() -> None:
    scores = {"m1": 350, "w1": 300}
    plugins = {"m1": {"NodeResourcesFit": 50}}
    found = rows(attempt(node="m1", evaluated=4, feasible=2, scores=scores, plugins=plugins, visited=("m1", "w1")))
    assert [(row.node, row.bound, row.score, row.plugins, row.evaluated_nodes, row.nodes_known) for row in found] == [
        ("m1", True, 350, {"NodeResourcesFit": 50}, 4, 4),
        ("w1", False, 300, {}, 4, 4),
    ]


def test_a_failure_is_that_of_a_pod_only_if_its_uid_is_known() -> None:
    known = rows(attempt(text=TEXT, uid="uid-p"))
    assert [(type(row), row.ts) for row in known] == [
        (SchedulingAttempt, at(180)),
        (SchedulingFailure, at(180)),
    ]
    assert (known[0].listed_nodes, known[0].said, known[1].text_source) == (4, TEXT, "log")
    assert [type(row) for row in rows(attempt(text=TEXT))] == [SchedulingAttempt]
    again = rows(attempt(text=TEXT, uid="uid-p"), attempt(240, text=TEXT, uid="uid-p"))
    assert [type(row) for row in again].count(SchedulingFailure) == 1, "the same text is one failure"


@pytest.mark.parametrize(
    ("visited", "found"),
    [
        (("w1", "m1", "w1", "m2"), [("lost_node", "m3")]),
        (("w1", "m1", "w1"), [("lost_node", "")]),  # the rest of the list is not named
        (("w1", "m1", "m2", "m3"), []),
        (("w1", "m1"), []),
        (("w1", "w1", "m1", "m1", "m2", "m2", "m3", "m3"), []),  # each line twice, by a collector
        (("w1", "w1"), []),  # as well
        (("w1", "w1", "m1", "m1"), []),  # half of the nodes, so that the list is as long
        ((), []),
    ],
)
def test_a_list_that_names_a_node_twice_lost_another(visited: Sequence[str], found: list[tuple[str, str]]) -> None:
    spots = [row for row in rows(attempt(text=TEXT, visited=visited)) if isinstance(row, SchedulerBlindSpot)]
    assert [(row.verdict, row.node) for row in spots] == found
    assert all(row.test == "log" and "w1 twice in one attempt" in row.evidence for row in spots)


def test_unobserved_nodes_are_not_called_lost() -> None:
    """A log alone, without the objects of its cluster, has no nodes to compare with."""
    record = attempt(text=TEXT, visited=("w1", "m1", "w1", "m2"))
    _, found = REDUCER.step(State(), record)
    assert [row.verdict for row in found if isinstance(row, SchedulerBlindSpot)] == ["inconclusive"]


def test_beside_a_condition_a_log_gives_no_verdict_of_its_own() -> None:
    records = [pod("p", 170, TEXT), attempt(text=TEXT.replace("4 nodes", "3 nodes"), uid="uid-p")]
    state = State()
    for record in [*(node(name, zone=zone) for name, zone in MASTERS.items()), *records]:
        state, _ = REDUCER.step(state, record)
    _, concluded = REDUCER.expire(state, at(600))
    assert [row for row in concluded if isinstance(row, SchedulerBlindSpot)] == []
