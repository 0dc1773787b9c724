"""Logs of nodes that are gone are given up hours later, by the time of their cluster (delivery.md#forgetting)."""

from collections import defaultdict, deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from ingest.model.objects.node import Node, NodeMetadata
from ingest.model.records import ForgetRecord, HeardRecord, LogBeganRecord, NodeRecord, Record, SourceErrorRecord
from streams.fold import forgetting
from streams.fold.findings import DeadLetter
from streams.fold.fold import Fold, LogKey, LogState
from streams.fold.forgetting import FORGOTTEN_AFTER, QUIET
from streams.fold.reducer import Output, Reducer, Withdrawal

T0 = datetime(2026, 7, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Count(msgspec.Struct, frozen=True):
    seen: int = 0


def count(state: Count, record: SourceErrorRecord) -> tuple[Count, Sequence[Output]]:
    return Count(state.seen + 1), (DeadLetter(record.cluster, record.ts, "", "", "", str(state.seen + 1), ""),)


COUNT: Reducer[Any] = Reducer("count", 1, "node", (SourceErrorRecord,), Count, count)


class Cluster:
    """The logs of a cluster; what one emits onto another arrives at once."""

    def __init__(self, *reducers: Reducer[Any]) -> None:
        self._fold = Fold([*(reducers or (COUNT,)), forgetting.REDUCER])
        self.logs: defaultdict[LogKey, LogState] = defaultdict(LogState)
        self.outputs: list[Any] = []
        self.emitted: list[Record] = []

    def take(self, *records: Record) -> None:
        waiting = deque(records)
        while waiting:
            record = waiting.popleft()
            for output in self._fold.step(self.logs[LogKey(record.cluster, record.node)], record):
                if isinstance(output, Record):
                    waiting.append(output)
                    self.emitted.append(output)
                else:
                    self.outputs.append(output)

    def node(self, at: datetime, change: Any) -> None:
        record = NodeRecord(ts=at, cluster="c", node="n", change=change, object=Node(NodeMetadata("n", uid="u")))
        self.take(record, msgspec.structs.replace(record, node=""))

    def seen(self, at: datetime, node: str = "n") -> None:
        self.take(SourceErrorRecord(ts=at, cluster="c", node=node, resource="r", error="e"))

    def until(self, at: datetime) -> None:
        """The cluster's time goes on."""
        self.take(HeardRecord(ts=at, cluster="c", resource="nodes"))

    def states(self, node: str = "n") -> dict[str, msgspec.Struct]:
        return self.logs[LogKey("c", node)].states


def test_the_log_of_a_deleted_node_is_given_up_when_its_hours_are_over_and_begins_anew() -> None:
    cluster = Cluster()
    cluster.node(T0, "ADDED")
    cluster.seen(T0)
    cluster.node(T0 + MINUTE, "DELETED")
    cluster.until(T0 + MINUTE + FORGOTTEN_AFTER - MINUTE)
    assert cluster.states() == {"count": Count(1)}
    cluster.until(T0 + MINUTE + FORGOTTEN_AFTER)
    assert cluster.states() == {}
    assert cluster.states("") == {}, "and its cluster remembers nothing of it"
    cluster.seen(T0 + timedelta(days=1))
    assert cluster.states() == {"count": Count(1)}


def test_a_node_that_is_back_in_time_keeps_its_log() -> None:
    cluster = Cluster()
    cluster.seen(T0)
    cluster.node(T0, "DELETED")
    cluster.node(T0 + FORGOTTEN_AFTER - MINUTE, "ADDED")
    cluster.until(T0 + 2 * FORGOTTEN_AFTER)
    cluster.seen(T0 + 2 * FORGOTTEN_AFTER)
    assert cluster.states() == {"count": Count(2)}


def test_a_node_that_exists_and_is_silent_keeps_its_log() -> None:
    cluster = Cluster()
    cluster.node(T0, "ADDED")
    cluster.seen(T0)
    cluster.until(T0 + timedelta(days=30))
    assert cluster.states() == {"count": Count(1)}


@pytest.mark.parametrize(("silence", "is_forgotten"), [(QUIET, True), (QUIET - MINUTE, False)])
def test_a_log_of_no_known_node_is_given_up_once_it_is_silent(silence: timedelta, is_forgotten: bool) -> None:
    cluster = Cluster()
    cluster.seen(T0)
    over = T0 + FORGOTTEN_AFTER
    cluster.seen(over - silence)
    cluster.until(over)
    assert (not cluster.states()) == is_forgotten


def test_a_log_that_was_heard_of_late_has_another_turn() -> None:
    cluster = Cluster()
    cluster.seen(T0)
    over = T0 + FORGOTTEN_AFTER
    cluster.seen(over - QUIET + MINUTE)
    cluster.until(over)
    assert cluster.states() == {"count": Count(2)}
    assert cluster.emitted[-1] == LogBeganRecord(ts=over, cluster="c", target="n")
    cluster.until(over + FORGOTTEN_AFTER)
    assert cluster.states() == {}


def test_a_log_that_has_something_to_conclude_is_kept_for_another_turn() -> None:
    over, left = DeadLetter("c", T0, "", "", "", "over", ""), Withdrawal("f")

    def step(state: Count, record: Record) -> tuple[Count, Sequence[Output]]:
        if not isinstance(record, ForgetRecord):
            return state, ()
        return Count(1), [left if state.seen else over]

    cluster = Cluster(Reducer("count", 1, "node", (SourceErrorRecord, ForgetRecord), Count, step))
    cluster.seen(T0)
    cluster.until(T0 + FORGOTTEN_AFTER)
    assert (cluster.outputs, cluster.states()) == ([over], {"count": Count(1)})
    cluster.until(T0 + 2 * FORGOTTEN_AFTER)
    assert (cluster.outputs, cluster.states()) == ([over, left], {})


def test_the_same_order_to_forget_twice_is_one() -> None:
    """A worker that died after it emitted emits again."""
    cluster = Cluster()
    cluster.seen(T0)
    order = ForgetRecord(ts=T0 + FORGOTTEN_AFTER, cluster="c", node="n")
    cluster.take(order, order)
    assert cluster.states() == {}
    assert cluster.emitted == [LogBeganRecord(ts=T0, cluster="c", target="n")]


def test_no_log_registers_where_nobody_forgets() -> None:
    record = SourceErrorRecord(ts=T0, cluster="c", node="n", resource="r", error="e")
    assert all(isinstance(each, DeadLetter) for each in Fold([COUNT]).step(LogState(), record))
