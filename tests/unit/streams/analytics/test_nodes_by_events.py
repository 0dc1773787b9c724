"""An Event that is newer than a Node states what the node is; a Node that was read after it answers it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec
import pytest

from components.rows import T0
from ingest.model.objects.base import Condition
from ingest.model.objects.event import Event, EventMetadata, ObjectReference
from ingest.model.objects.node import Node, NodeMetadata, NodeStatus
from ingest.model.records import EventRecord, NodeRecord, Record
from streams.analytics.nodes import REDUCER, State
from streams.fold.findings import NodeRow

TEN: Final = T0 - timedelta(hours=2)


def at(minutes: float) -> datetime:
    return TEN + timedelta(minutes=minutes)


def node(minutes: float, status: str, turned: float, change: str = "ADDED") -> NodeRecord:
    ready = Condition(type="Ready", status=status, last_transition_time=at(turned), message="PLEG")
    made = Node(NodeMetadata("n", uid="n", creation_timestamp=at(-900)), status=NodeStatus(conditions=[ready]))
    return NodeRecord(ts=at(minutes), cluster="c", node="n", change=change, object=made)  # type: ignore[arg-type]


def event(reason: str, minutes: float) -> EventRecord:
    words = f"Node n status is now: {reason}" if reason.startswith("Node") else f"Node n event: {reason}"
    about = ObjectReference(kind="Node", name="n")
    meta = EventMetadata(name=f"n.{reason}", namespace="default")
    said = Event(metadata=meta, reason=reason, message=words, involved_object=about, last_timestamp=at(minutes))
    return EventRecord(ts=at(minutes), cluster="c", node="n", change="ADDED", object=said)


def last(records: Sequence[Record]) -> NodeRow:
    state, rows = State(), list[NodeRow]()
    for record in records:
        state, found = REDUCER.step(state, record)
        rows += [row for row in found if isinstance(row, NodeRow)]
    return max(rows, key=lambda row: row.ts)


WELL: Final = node(10, "True", -600)
DOWN: Final = node(10, "False", -20)


@pytest.mark.parametrize("turned_around", [False, True])
@pytest.mark.parametrize(
    ("seen", "reason", "expected"),
    [
        (WELL, "NodeNotReady", (False, at(9), "", False)),
        (DOWN, "NodeReady", (True, at(9), "", False)),
        (DOWN, "NodeNotReady", (False, at(-20), "PLEG", False)),
        (WELL, "NodeReady", (True, at(-600), "", False)),
        (DOWN, "RemovingNode", (False, at(-20), "PLEG", True)),
        (WELL, "Rebooted", (True, at(-600), "", False)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_newer_event_counts_in_any_order(
    seen: NodeRecord, reason: str, expected: tuple[bool, datetime, str, bool], turned_around: bool
) -> None:
    found = last([seen, event(reason, 9)][:: -1 if turned_around else 1])
    assert (found.ready, found.ready_since, found.ready_message, found.deleted) == expected


def test_a_node_that_was_made_or_turned_after_the_event_is_as_it_says() -> None:
    assert last([node(10, "True", 9.5), event("NodeNotReady", 9)]).ready


def test_an_event_long_before_the_reading_is_older_than_the_node_whatever_its_kubelets_clock() -> None:
    assert last([WELL, event("NodeNotReady", -5)]).ready


@pytest.mark.parametrize("reason", ["NodeNotReady", "RemovingNode"])
def test_an_event_that_was_watched_changes_no_node(reason: str) -> None:
    """It can be late, or anyone's: where nodes are watched, the object says what they are."""
    late = msgspec.structs.replace(event(reason, 11), ts=at(11.01))
    assert last([WELL, late]) == last([WELL])


def test_what_an_event_stated_and_the_object_then_too_is_the_object_s() -> None:
    back = node(12, "True", 11)
    assert last([DOWN, event("NodeReady", 11), back, event("NodeNotReady", 13)]).ready is False


def test_a_change_that_was_watched_after_an_event_answers_it_also_when_the_event_is_listed_again() -> None:
    """The kubelet's clock is behind: Ready turned before the Event, by what it writes."""
    down = event("NodeNotReady", 12)
    records: list[Record] = [WELL, down, node(12.1, "False", 12, "MODIFIED"), node(13, "True", 11, "MODIFIED"), down]
    assert last(records).ready
    assert last([*records, node(14, "True", 11)]).ready


def test_ready_by_a_second_event_is_ready_again_since_then() -> None:
    found = last([WELL, event("NodeNotReady", 12), event("NodeReady", 13)])
    assert (found.ready, found.ready_since) == (True, at(13))
