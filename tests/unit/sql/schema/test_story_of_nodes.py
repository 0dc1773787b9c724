"""Lines of the story about the condition Ready say no more than it does (rules: nodes-that-do-not-report)."""

from datetime import timedelta
from typing import Any

import pytest

from components.cases import Answers, Cases
from components.database import EmptyDatabase
from components.rows import T0, row
from streams.fold.findings import NodeEvent, NodeRow, Row


def _seen(minute: int, ready: bool | None, **more: Any) -> NodeRow:
    at = T0 + timedelta(minutes=minute)
    return row(NodeRow, node="n", uid="n", ts=at, ready=ready, **more)


def _answers(minute: float, reason: str) -> NodeEvent:
    at = T0 + timedelta(minutes=minute)
    of = {"object_kind": "Node", "object_name": "n", "name": f"{reason}{minute}", "reason": reason, "occurrences": 1}
    return row(NodeEvent, node="n", ts=at, observed_at=at, **of)


def _cordoned(minute: int, since: int) -> NodeRow:
    return _seen(minute, True, unschedulable=True, cordoned_since=T0 + timedelta(minutes=since))


CASES = Cases()


@pytest.fixture(scope="module")
def answers(empty_database: EmptyDatabase) -> Answers:
    return CASES.answers(empty_database, "SELECT cluster, ts, what FROM story WHERE kind = 'node' ORDER BY ts")


def _lines(answers: Answers, case: str) -> list[str]:
    return [each["what"] for each in answers[case]]


NEW = CASES.add(_seen(0, None), _seen(1, ready=False), _seen(2, ready=True))


def test_a_new_node_becomes_ready_and_not_ready_again(answers: Answers) -> None:
    """It joins without the condition, as one that a cloud provider makes: that says nothing about its kubelet."""
    since = "The node is not Ready. It became so at or before this time."
    assert _lines(answers, NEW) == [since, "The node is Ready."]


SAID = "Kubelet stopped posting node status."
READY_BEFORE = CASES.add(_seen(0, ready=True), _seen(1, None, ready_message=SAID), _seen(2, ready=True))


def test_a_node_that_was_ready_before_is_ready_again(answers: Answers) -> None:
    assert _lines(answers, READY_BEFORE) == [
        "Whether the node is Ready is unknown: its kubelet does not report.",
        "The node is Ready again.",
    ]


BY_EVENT = "The node is cordoned, according to an Event: no new pods are placed there."
CORDONED = "The node is cordoned: no new pods are placed there."
NO_LONGER = "The node is no longer cordoned."


BY_EVENTS: list[tuple[list[Row], list[str]]] = [
    ([_answers(5, "NodeNotSchedulable")], [BY_EVENT]),
    ([_answers(5, "NodeNotSchedulable"), _answers(6, "NodeNotSchedulable")], [BY_EVENT]),
    (
        [_answers(5, "NodeNotSchedulable"), _answers(9, "NodeSchedulable")],
        [BY_EVENT, "The node is no longer cordoned, according to an Event."],
    ),
    ([_answers(9, "NodeSchedulable")], []),
    ([_seen(0, True), _answers(5, "NodeNotSchedulable"), _seen(9, True)], [BY_EVENT, NO_LONGER]),
    ([_seen(0, True), _answers(5, "NodeNotSchedulable"), _seen(6, True)], [BY_EVENT]),
    ([_seen(0, True, unschedulable=True), _answers(5, "NodeNotSchedulable")], [CORDONED]),
    ([_seen(0, True), _answers(5, "NodeNotSchedulable"), _seen(9, True, unschedulable=True)], [CORDONED]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "lines"),
    [(CASES.add(*rows), lines) for rows, lines in BY_EVENTS],
    ids=("alone", "repeated", "ended", "end alone", "ended by object", "read beside it", "known", "shown later"),
)
def test_a_cordon_is_by_an_event_where_no_object_shows_it(answers: Answers, case: str, lines: list[str]) -> None:
    """The Event of a kubelet that starts on a cordoned node repeats what the object has."""
    assert _lines(answers, case) == lines


DATED: list[tuple[list[Row], list[int]]] = [
    ([_answers(5, "NodeNotSchedulable"), _seen(9, True, unschedulable=True)], [5]),
    ([_seen(0, True), _answers(5, "NodeNotSchedulable"), _seen(9, True, unschedulable=True)], [5]),
    ([_answers(5, "NodeNotSchedulable"), _answers(7, "NodeNotSchedulable"), _seen(9, True, unschedulable=True)], [5]),
    ([_seen(4, True, unschedulable=True), _answers(5, "NodeNotSchedulable")], [4]),
    (
        [_seen(4, True, unschedulable=True), _answers(5, "NodeNotSchedulable"), _seen(6, True, unschedulable=True)],
        [4],
    ),
    (
        [
            *(_answers(1, "NodeNotSchedulable"), _seen(4, True, unschedulable=True)),
            *(_answers(6, "NodeSchedulable"), _seen(9, True)),
        ],
        [1, 6],
    ),
    (
        [_answers(1, "NodeNotSchedulable"), _answers(2, "NodeSchedulable"), _seen(9, True, unschedulable=True)],
        [1, 2, 9],
    ),
    ([_seen(3, True, unschedulable=True), _seen(9, True)], [3, 9]),
    ([_cordoned(9, since=2)], [2]),
    ([_seen(0, True), _cordoned(9, since=2), _answers(3, "NodeNotSchedulable")], [2]),
    ([_seen(4, True), _cordoned(9, since=2)], [9]),
    ([_cordoned(9, since=12)], [9]),
    ([_cordoned(4, since=2), _cordoned(9, since=2)], [2]),
]


@pytest.mark.parametrize(
    ("case", "minutes"),
    [(CASES.add(*rows), minutes) for rows, minutes in DATED],
    ids=(
        *("dump", "two lists", "repeated", "watched", "restarted", "over", "another before", "without Events"),
        *("taint", "taint and Event", "seen otherwise since", "clock ahead", "taint seen again"),
    ),
)
def test_a_cordon_has_the_time_of_its_event_where_the_object_was_read_later(
    answers: Answers, case: str, minutes: list[int]
) -> None:
    assert [(line["ts"] - T0) / timedelta(minutes=1) for line in answers[case]] == minutes
