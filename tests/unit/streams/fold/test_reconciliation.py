"""Logs after an interrupted watch know the same as a log that saw everything (delivery.md#watching)."""

import random
from collections import Counter, defaultdict, deque
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.clock import FakeClock
from ingest.apiserver.changes import KEYS_OF_A_PART, Changes, Seen, parts
from ingest.apiserver.watch_events import WatchEvent
from ingest.model.records import InventoryRecord, LogBeganRecord, Record
from ingest.normalize.redact import Received
from ingest.resources.nodes import NODES
from ingest.resources.pods import PODS
from ingest.resources.resource import ApiResource
from streams.analytics.registry import REDUCERS
from streams.fold.findings import NodeRow, PodBinding, SchedulerBlindSpot
from streams.fold.fold import Fold, LogKey, LogState
from streams.fold.shelves import all_on

NAMES = ("a", "b", "c")
CLUSTER = LogKey("lab", "")


class World:
    """A cluster's nodes and pods, one who watches them now and then, and what the logs learn of it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.clock = FakeClock()
        self.nodes: dict[str, str] = {}
        self.pods: dict[str, tuple[str, str]] = {}
        """The uid and the node of each; a pending one has none."""
        self.logs: defaultdict[LogKey, LogState] = defaultdict(LogState)
        self.rows: list[Any] = []
        self._fold = Fold(REDUCERS)
        self._watch: dict[str, Changes] = {}
        self._unsent: list[Record] | None = None
        """Records that do not reach Kafka yet, while the watcher is about to die."""
        self._emitted: deque[Record] = deque()
        """Records that reducers emitted onto other logs: Kafka brings them some time later."""

    def begin_to_watch(self) -> None:
        """A watcher that knows nothing: it lists."""
        self._register()
        watched: list[ApiResource[Any]] = [NODES, PODS]
        self._watch = {
            each.name: Changes(each, "lab", self.clock.clock, Counter(), lambda *_: None) for each in watched
        }
        for resource in self.chance.sample(watched, 2):
            changes, began = self._watch[resource.name], self.clock.clock.now()
            for raw in self._listed(resource.name):
                self._take(changes.listed(raw)[1])
            self._take([*changes.inventory(), changes.anew(began)])

    def watch_no_more(self) -> None:
        self._watch = {}

    def die(self, changes: int) -> None:
        """The watcher dies while changes are on their way to Kafka: each log has the first of them, one more than
        another.
        """
        self._unsent = []
        for _ in range(changes):
            self.change()
        unsent, self._unsent = self._unsent, None
        left = {key: self.chance.randrange(len(unsent) + 1) for key in {key_of(record) for record in unsent}}
        for record in unsent:
            left[key_of(record)] -= 1
            if left[key_of(record)] >= 0:
                self._step(record)
        self.watch_no_more()

    def change(self) -> None:
        """Something happens; it is seen where somebody watches."""
        self.clock.seconds += 5
        name, node = self.chance.choice(NAMES), self.chance.choice(NAMES)
        kind = self.chance.choice(["node", "pod", "pod", "bind"])
        if kind == "node":
            if uid := self.nodes.pop(name, ""):
                self._see("nodes", "DELETED", _node(name, uid))
            else:
                self.nodes[name] = f"{name}-{self.clock.seconds}"
                self._see("nodes", "ADDED", _node(name, self.nodes[name]))
        elif kind == "pod":
            if pod := self.pods.pop(name, None):
                self._see("pods", "DELETED", _pod(name, *pod))
            else:
                self.pods[name] = (f"{name}-{self.clock.seconds}", "")
                self._see("pods", "ADDED", _pod(name, *self.pods[name]))
        elif name in self.pods and not self.pods[name][1] and node in self.nodes:
            self.pods[name] = (self.pods[name][0], node)
            self._see("pods", "MODIFIED", _pod(name, *self.pods[name]))

    def deliver(self, count: int) -> None:
        """Deliver the records that were emitted onto other logs."""
        for _ in range(min(count, len(self._emitted))):
            self._step(self._emitted.popleft())

    def _register(self) -> None:
        """Deliver the records that logs emit to their cluster's."""
        began = [each for each in self._emitted if isinstance(each, LogBeganRecord)]
        self._emitted = deque(each for each in self._emitted if not isinstance(each, LogBeganRecord))
        for each in began:
            self._step(each)

    def settle(self) -> None:
        while self._emitted:
            self.deliver(1)

    def known(self, node: str) -> tuple[bool, set[str], set[str]]:
        """Return whether a node's log takes the node for alive, and the pods that two of its reducers know."""
        states: dict[str, Any] = self.logs[LogKey("lab", node)].states
        last = states["nodes"].last if "nodes" in states else None
        bindings = {uid for uid, _ in all_on(states["pod_bindings"].pods)} if "pod_bindings" in states else set()
        fit = {uid for uid, _ in all_on(states["node_fit"].pods)} if "node_fit" in states else set()
        return last is not None and not last.deleted, bindings, fit

    def _listed(self, resource: str) -> list[msgspec.Raw]:
        objects = (
            [_node(*node) for node in self.nodes.items()]
            if resource == "nodes"
            else [_pod(name, *pod) for name, pod in self.pods.items()]
        )
        return self.chance.sample(objects, len(objects))

    def _see(self, resource: str, change: str, thing: msgspec.Raw) -> None:
        if self._watch:
            self._take(self._watch[resource].watched(WatchEvent(change, thing), "1"))

    def _take(self, steps: list[Seen]) -> None:
        for seen in steps:
            for record in Received(seen.observation, seen.decoded).records() if seen.observation else ():
                if self._unsent is None:
                    self._step(record)
                else:
                    self._unsent.append(record)

    def _step(self, record: Record) -> None:
        for output in self._fold.step(self.logs[key_of(record)], record):
            if isinstance(output, Record):
                self._emitted.append(output)
            else:
                self.rows.append(output)


def key_of(record: Record) -> LogKey:
    return LogKey(record.cluster, record.node)


def _node(name: str, uid: str) -> msgspec.Raw:
    ready = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": {"cpu": "4"}, "conditions": ready, "nodeInfo": {"kubeletVersion": "v1.36.1"}}
    return _raw({"metadata": {"name": name, "uid": uid, "resourceVersion": "1"}, "status": status})


def _pod(name: str, uid: str, node: str) -> msgspec.Raw:
    metadata = {"name": name, "namespace": "d", "uid": uid, "resourceVersion": "1"}
    return _raw(
        {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": "Running" if node else "Pending"}}
    )


def _raw(thing: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(thing))


@settings(max_examples=150, deadline=None)
@given(chance=st.randoms(use_true_random=True))
def test_logs_know_existing_objects_after_any_watcher_was_away(chance: random.Random) -> None:
    """Watchers come and go while nodes and pods do, and Kafka brings what one log emits onto another at any time, but
    that a log began before the next watcher lists.
    """
    world = World(chance)
    for _ in range(chance.randrange(1, 6)):
        world.begin_to_watch()
        for _ in range(chance.randrange(8)):
            world.change()
            world.deliver(chance.randrange(3))
        world.die(chance.randrange(4))
        for _ in range(chance.randrange(8)):
            world.change()
    world.begin_to_watch()
    world.settle()
    for name in NAMES:
        bound = {uid for uid, node in world.pods.values() if node == name}
        assert world.known(name) == (name in world.nodes, bound, bound)
    cluster: Any = world.logs[CLUSTER].states
    pending = {uid for uid, _ in all_on(cluster["pending_pods"].pods)}
    assert pending == {uid for uid, node in world.pods.values() if not node}
    assert {name: node.uid for name, node in cluster["scheduling"].nodes.nodes.items()} == world.nodes


def test_pods_of_a_node_that_nobody_saw_are_gone_with_the_next_list() -> None:
    """Two lists of pods: the node of one came and went, or was not listed yet, and then nobody looked."""
    world = World(random.Random(1))  # noqa: S311  # a test that can be repeated
    world.pods = {"a": ("a-1", "b")}
    world.begin_to_watch()
    world.settle()
    assert world.known("b") == (False, {"a-1"}, {"a-1"})
    world.watch_no_more()
    world.pods, world.nodes = {}, {"b": "b-1"}
    world.clock.seconds += 5
    world.begin_to_watch()
    world.settle()
    assert world.known("b") == (True, set(), set())


@settings(max_examples=50, deadline=None)
@given(chance=st.randoms(use_true_random=True))
def test_a_second_list_of_the_same_changes_nothing(chance: random.Random) -> None:
    world = World(chance)
    for _ in range(12):
        world.change()
    world.begin_to_watch()
    world.settle()
    before = len([row for row in world.rows if isinstance(row, NodeRow | PodBinding)])
    world.clock.seconds += 60
    world.begin_to_watch()
    world.settle()
    assert len([row for row in world.rows if isinstance(row, NodeRow | PodBinding)]) == before


@settings(max_examples=5, deadline=None)
@given(chance=st.randoms(use_true_random=True))
def test_no_node_is_taken_for_lost_because_it_went_unseen(chance: random.Random) -> None:
    """A scheduler counts the 3 nodes that are left; the log knew 4 before the watcher was restarted."""
    world = World(chance)
    world.nodes = {name: f"{name}-1" for name in (*NAMES, "scaled-down")}
    world.begin_to_watch()
    world.watch_no_more()
    world.clock.seconds += 3600
    del world.nodes["scaled-down"]
    world.begin_to_watch()
    world.settle()
    world.clock.seconds += 1800
    text = (
        "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No preemption victims."
    )
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": text}
    status = {"phase": "Pending", "conditions": [unschedulable]}
    world._see("pods", "ADDED", _raw({"metadata": {"name": "p", "namespace": "d", "uid": "p-1"}, "status": status}))
    world.clock.seconds += 600
    world._see("nodes", "MODIFIED", _node("a", "a-2"))
    assert [row for row in world.rows if isinstance(row, SchedulerBlindSpot)] == []


@pytest.mark.parametrize("count", [0, 1, KEYS_OF_A_PART, KEYS_OF_A_PART + 1, 50_000])
def test_an_inventory_in_parts_finds_the_same_gone_and_no_part_is_large(count: int) -> None:
    there = {f"uid-{number:06}" for number in range(0, 2 * count, 2)}
    known = {f"uid-{number:06}" for number in range(2 * count + 2)}
    found = list(parts(NODES, {"": there}))
    assert all(len(part.object) < 1024 * 1024 for part in found)
    told = [msgspec.json.decode(part.object) for part in found]
    records = [InventoryRecord(ts=FakeClock().clock.now(), cluster="lab", resource="nodes", **each) for each in told]
    gone = [key for record in records for key in record.gone(known)]
    assert gone == sorted(known - there)


def test_what_is_there_but_cannot_be_read_is_gone_nowhere() -> None:
    """An object of another shape: which log it is on is not known, so that no log may miss it."""
    found = [(part.node, msgspec.json.decode(part.object)) for part in parts(PODS, {"a": ["u-1"], None: ["u-9"]})]
    assert found == [("", {"keys": ["u-9"]}), ("a", {"keys": ["u-1", "u-9"]})]
