"""Logs of nodes that are gone are given up hours later, by the time of their cluster (delivery.md#forgetting)."""

from collections import defaultdict, deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from ingest.model.objects.node import Node, NodeMetadata
from ingest.model.objects.pod import Pod, PodMetadata, PodSpec, PodStatus
from ingest.model.records import (
    ForgetRecord,
    HeartbeatRecord,
    InventoryRecord,
    LogBeganRecord,
    NodeRecord,
    PodRecord,
    Record,
    SourceErrorRecord,
)
from streams.analytics import nodes, pod_bindings
from streams.fold import forgetting
from streams.fold.findings import DeadLetter, NodeRow, PodBinding
from streams.fold.fold import Fold, LogKey, LogState
from streams.fold.forgetting import FORGOTTEN_AFTER
from streams.fold.reducer import Output, Reducer

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
        self.take(HeartbeatRecord(ts=at, cluster="c", resource="nodes"))

    def states(self, node: str = "n") -> dict[str, msgspec.Struct]:
        return self.logs[LogKey("c", node)].states


def test_a_deleted_nodes_log_is_forgotten_after_six_hours_and_starts_fresh() -> None:
    cluster = Cluster()
    cluster.node(T0, "ADDED")
    cluster.seen(T0)
    cluster.node(T0 + MINUTE, "DELETED")
    cluster.until(T0 + MINUTE + FORGOTTEN_AFTER - MINUTE)
    assert cluster.states() == {"count": Count(1)}
    cluster.until(T0 + MINUTE + FORGOTTEN_AFTER)
    assert cluster.states() == {}
    (known,) = cluster.states("").values()
    assert known == forgetting.State(T0 + MINUTE + FORGOTTEN_AFTER), "its cluster remembers nothing of it"
    cluster.seen(T0 + timedelta(days=1))
    assert cluster.states() == {"count": Count(1)}


def test_a_node_that_returns_in_time_keeps_its_log() -> None:
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


@pytest.mark.parametrize("arrives", [True, False], ids=["the order arrives", "or not"])
@pytest.mark.parametrize(("silence", "seen"), [(FORGOTTEN_AFTER, 1), (FORGOTTEN_AFTER - MINUTE, 2)])
def test_only_a_logs_own_silence_decides_whether_it_starts_fresh(
    silence: timedelta, seen: int, arrives: bool
) -> None:
    """The order can come late, as in a backlog: rows are the same on every runtime."""
    cluster = Cluster()
    cluster.seen(T0)
    if arrives:
        cluster.until(T0 + silence)
    cluster.seen(T0 + silence)
    cluster.until(T0 + FORGOTTEN_AFTER)
    assert cluster.states() == {"count": Count(seen)}


def test_a_recently_seen_log_without_a_known_node_is_forgotten_later() -> None:
    cluster = Cluster()
    cluster.seen(T0)
    cluster.seen(T0 + 10 * MINUTE)
    cluster.until(T0 + FORGOTTEN_AFTER)
    assert cluster.states() == {"count": Count(2)}
    cluster.until(T0 + FORGOTTEN_AFTER + 9 * MINUTE)
    assert cluster.states() == {"count": Count(2)}
    cluster.until(T0 + FORGOTTEN_AFTER + 10 * MINUTE)
    assert cluster.states() == {}


def test_a_log_that_registers_too_late_is_forgotten_at_once() -> None:
    """Its cluster's log can be ahead of it."""
    cluster = Cluster()
    cluster.until(T0 + FORGOTTEN_AFTER)
    cluster.seen(T0)
    assert cluster.states() == {}


def last_words(state: Count, record: Record) -> tuple[Count, Sequence[Output]]:
    if not isinstance(record, ForgetRecord):
        return Count(2), ()
    return Count(max(state.seen - 1, 0)), [DeadLetter("c", record.ts, "", "", "", "", "")]


@pytest.mark.parametrize("arrives", [True, False], ids=["the order arrives", "or not"])
def test_a_forgotten_logs_last_findings_have_the_time_when_it_expired(arrives: bool) -> None:
    cluster = Cluster(Reducer("count", 1, "node", (SourceErrorRecord, ForgetRecord), Count, last_words))
    cluster.seen(T0)
    if arrives:
        cluster.until(T0 + timedelta(days=1))
    cluster.seen(T0 + timedelta(days=1))
    assert [each.ts for each in cluster.outputs] == [T0 + FORGOTTEN_AFTER, T0 + 2 * FORGOTTEN_AFTER][: 1 + arrives]


def test_a_reducer_with_work_left_keeps_its_state_and_the_others_forget() -> None:
    left = Reducer("left", 1, "node", (SourceErrorRecord, ForgetRecord), Count, last_words)
    cluster = Cluster(COUNT, left)
    cluster.seen(T0)
    cluster.until(T0 + FORGOTTEN_AFTER)
    assert cluster.states() == {"left": Count(1)}
    cluster.until(T0 + 2 * FORGOTTEN_AFTER)
    assert cluster.states() == {}


def test_a_repeated_order_to_forget_changes_nothing() -> None:
    """A worker that died after it emitted emits again."""
    cluster = Cluster()
    cluster.seen(T0)
    order = ForgetRecord(ts=T0 + FORGOTTEN_AFTER, cluster="c", node="n")
    cluster.take(order, order)
    assert cluster.states() == {}
    assert cluster.emitted == [LogBeganRecord(ts=T0, cluster="c", target="n")]


def test_no_log_registers_in_a_runtime_that_does_not_forget() -> None:
    record = SourceErrorRecord(ts=T0, cluster="c", node="n", resource="r", error="e")
    assert all(isinstance(each, DeadLetter) for each in Fold([COUNT]).step(LogState(), record))


def test_an_agents_time_forgets_nothing() -> None:
    cluster = Cluster()
    cluster.node(T0, "ADDED")
    cluster.seen(T0)
    cluster.node(T0 + MINUTE, "DELETED")
    cluster.take(HeartbeatRecord(ts=T0 + timedelta(days=1), cluster="c", resource="agent", target="other"))
    assert cluster.states() == {"count": Count(1)}


@pytest.mark.parametrize("on_its_way", [False, True], ids=["in time", "after it was created again"])
def test_a_list_deletes_a_node_whose_own_log_missed_the_deletion(on_its_way: bool) -> None:
    """A watcher died between the two messages of a deletion. What a log emits reaches its cluster at any time."""
    cluster = Cluster(nodes.REDUCER)
    node = NodeRecord(ts=T0, cluster="c", node="n", change="ADDED", object=Node(NodeMetadata("n", uid="u")))
    cluster.take(node, msgspec.structs.replace(node, node=""))
    cluster.take(msgspec.structs.replace(node, ts=T0 + MINUTE, node="", change="DELETED"))
    listed = InventoryRecord(ts=T0 + 2 * MINUTE, cluster="c", resource="nodes", keys=("a", "z"))
    if on_its_way:
        again = msgspec.structs.replace(node, ts=T0 + MINUTE, object=Node(NodeMetadata("n", uid="w")))
        cluster.take(again, msgspec.structs.replace(again, node=""))
        cluster.take(LogBeganRecord(ts=T0, cluster="c", target="n", uid="u"))
        listed = msgspec.structs.replace(listed, keys=("a", "w", "z"))
    cluster.take(listed)
    alive = [(row.uid, row.deleted) for row in cluster.outputs if isinstance(row, NodeRow)]
    assert alive == [("u", False), ("u", True), *([("w", False)] if on_its_way else [])]


def test_a_list_deletes_a_replacement_node_that_only_its_own_log_knows() -> None:
    """A watcher died between the two messages of the new node, whose predecessor's end nobody saw. Each list showed
    the predecessor's place alone, so the node stayed for ever.
    """
    cluster = Cluster(nodes.REDUCER)
    for uid in ("u", "w"):
        node = NodeRecord(ts=T0, cluster="c", node="n", change="ADDED", object=Node(NodeMetadata("n", uid=uid)))
        cluster.take(node, *([msgspec.structs.replace(node, node="")] if uid == "u" else []))
    cluster.take(InventoryRecord(ts=T0 + MINUTE, cluster="c", resource="nodes", keys=("a", "v")))
    alive = [(row.uid, row.deleted) for row in cluster.outputs if isinstance(row, NodeRow)]
    assert alive == [("u", False), ("w", False), ("w", True)]


def test_lists_without_a_deleted_node_do_not_delay_its_forgetting() -> None:
    """A list each five hours has no pods of it, and its log is told so."""
    cluster = Cluster(pod_bindings.REDUCER, nodes.REDUCER)
    cluster.node(T0, "ADDED")
    cluster.seen(T0)
    cluster.node(T0 + MINUTE, "DELETED")
    for hours in range(1, 13):
        at = T0 + MINUTE + timedelta(hours=hours)
        for resource, of_logs in (("nodes", False), ("pods", True)):
            cluster.take(InventoryRecord(ts=at, cluster="c", resource=resource, of_logs=of_logs))
        cluster.until(at)
        assert bool(cluster.states()) == (hours < 6)


def test_a_pod_deleted_unseen_is_deleted_when_its_node_is_forgotten() -> None:
    cluster = Cluster(pod_bindings.REDUCER)
    cluster.node(T0, "ADDED")
    pod = Pod(PodMetadata("p", "ns", "uid"), PodSpec("n"), PodStatus("Running"))
    cluster.take(PodRecord(ts=T0, cluster="c", node="n", change="ADDED", object=pod))
    cluster.node(T0 + MINUTE, "DELETED")
    cluster.until(T0 + timedelta(hours=12))
    assert [(row.pod, row.change, row.ts) for row in cluster.outputs if isinstance(row, PodBinding)] == [
        ("p", "bound", T0),
        ("p", "deleted", T0 + MINUTE + FORGOTTEN_AFTER),
    ]
    assert cluster.states() == {}
