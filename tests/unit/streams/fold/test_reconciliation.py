"""Logs after an interrupted watch know the same as a log that saw everything (delivery.md#watching)."""

import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.clock import FakeClock
from ingest.apiserver.changes import KEYS_OF_A_PART, Changes, Seen, parts
from ingest.apiserver.watch_events import WatchEvent
from ingest.model.records import InventoryRecord, LogBeganRecord, Record, SourceErrorRecord
from ingest.normalize.redact import Received
from ingest.resources.node_resource_topologies import NODE_RESOURCE_TOPOLOGIES
from ingest.resources.nodes import NODES
from ingest.resources.pods import PODS
from ingest.resources.resource import ApiResource
from streams.analytics.registry import REDUCERS
from streams.fold.findings import Alert, NodeRow, PodBinding, SchedulerBlindSpot
from streams.fold.fold import Fold, LogKey, LogState
from streams.fold.shelves import all_on

NAMES = ("a", "b", "c")
CLUSTER = LogKey("lab", "")
WATCHED: tuple[ApiResource[Any], ...] = (NODES, PODS, NODE_RESOURCE_TOPOLOGIES)


class World:
    """A cluster's nodes and pods, one who watches them now and then, and what the logs learn of it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.clock = FakeClock()
        self.nodes: dict[str, str] = {}
        self.lost: set[str] = set()
        """UIDs of nodes that are not ready."""
        self.described: dict[str, str] = {}
        """The uid of the NodeResourceTopology of each node that has one."""
        self.pods: dict[str, tuple[str, str]] = {}
        """The uid and the node of each; a pending one has none."""
        self.bound: dict[str, datetime] = {}
        """When each pod was bound, by its uid."""
        self.logs: defaultdict[LogKey, LogState] = defaultdict(LogState)
        self.rows: list[Any] = []
        self._fold = Fold(REDUCERS)
        self._watch: dict[str, Changes] = {}
        self._unsent: list[Record] | None = None
        """Records that do not reach Kafka yet, while the watcher is about to die."""
        self._unseen: list[tuple[str, WatchEvent]] = []
        """What the API server would show one who resumes at the last version of which Kafka has everything."""
        self._emitted: deque[Record] = deque()
        """Records that reducers emitted onto other logs: Kafka brings them some time later."""

    def begin_to_watch(self) -> None:
        """A watcher that knows nothing: it lists."""
        self._register()
        self._watch = {
            each.name: Changes(each, "lab", self.clock.clock, Counter(), lambda *_: None) for each in WATCHED
        }
        for resource in self.chance.sample(WATCHED, len(WATCHED)):
            self._list(resource.name)
        self._acknowledged()

    def resume(self) -> None:
        """A watcher that goes on at a stored version, some seconds after another died."""
        self.clock.seconds += 5
        self._register()
        self._watch = {
            each.name: Changes(each, "lab", self.clock.clock, Counter(), lambda *_: None) for each in WATCHED
        }
        for resource, event in self._unseen:
            self.clock.seconds += 0.001
            self._take(self._watch[resource].watched(event, "1"))
        self._acknowledged()

    def compare(self) -> None:
        """A watcher that watches reads a whole list, as after a restore of etcd or once in some hours."""
        for resource in self.chance.sample([*self._watch], len(self._watch)):
            self._list(resource)
        self._acknowledged()

    def _list(self, name: str) -> None:
        changes, began = self._watch[name], self.clock.clock.now()
        present = []
        for raw in self._listed(name):
            key, steps = changes.listed(raw)
            present.append(key)
            self._take(steps)
        self._take([*changes.vanished(present, "1"), *changes.inventory(), changes.anew(began)])

    def _acknowledged(self) -> None:
        if self._unsent is None:
            self._unseen = []

    def watch_no_more(self) -> None:
        self._watch = {}

    def die(self, act: Callable[[], object]) -> None:
        """The watcher dies while what it published is on its way to Kafka: each log has the first of it, one more
        than another. What is for the cluster's is sent when Kafka has all before it.
        """
        self._unsent = []
        act()
        unsent, self._unsent = self._unsent, None
        left = {key: self.chance.randrange(len(unsent) + 1) for key in sorted({key_of(record) for record in unsent})}
        is_whole = True
        for record in unsent:
            key = key_of(record)
            if key == CLUSTER and not is_whole:
                break
            left[key] -= 1
            if left[key] >= 0:
                self._step(record)
            else:
                is_whole = False
        self.watch_no_more()

    def change(self) -> None:
        """Something happens; it is seen where somebody watches."""
        self.clock.seconds += 5
        name, node = self.chance.choice(NAMES), self.chance.choice(NAMES)
        kind = self.chance.choice(["node", "ready", "describe", "pod", "pod", "bind"])
        if kind == "node":
            if uid := self.nodes.pop(name, ""):
                self._see("nodes", "DELETED", self._node(name, uid))
                if described := self.described.pop(name, ""):  # its owner is gone
                    self._see(NODE_RESOURCE_TOPOLOGIES.name, "DELETED", _topology(name, described))
            else:
                self.nodes[name] = self._uid()
                self._see("nodes", "ADDED", self._node(name, self.nodes[name]))
        elif kind == "ready" and name in self.nodes:
            self.lost ^= {self.nodes[name]}
            self._see("nodes", "MODIFIED", self._node(name, self.nodes[name]))
        elif kind == "describe" and name in self.nodes and name not in self.described:
            self.described[name] = self._uid()
            self._see(NODE_RESOURCE_TOPOLOGIES.name, "ADDED", _topology(name, self.described[name]))
        elif kind == "pod":
            if pod := self.pods.pop(name, None):
                self._see("pods", "DELETED", self._pod(name, *pod))
            else:
                self.pods[name] = (self._uid(), "")
                self._see("pods", "ADDED", self._pod(name, *self.pods[name]))
        elif kind == "bind" and name in self.pods and not self.pods[name][1] and node in self.nodes:
            self.pods[name] = (self.pods[name][0], node)
            self.bound[self.pods[name][0]] = self.clock.clock.now()
            self._see("pods", "MODIFIED", self._pod(name, *self.pods[name]))

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

    def pass_minutes(self, count: int) -> None:
        """Nothing happens; each kubelet that there is does not answer, which moves the time of its log."""
        for _ in range(count):
            self.clock.seconds += 60
            now = self.clock.clock.now()
            for name in self.nodes:
                self._step(SourceErrorRecord(ts=now, cluster="lab", node=name, resource="stats/summary", error="-"))
            self.settle()

    def _uid(self) -> str:
        return f"{self.chance.getrandbits(64):016x}"

    def _node(self, name: str, uid: str) -> msgspec.Raw:
        return _node(name, uid, "False" if uid in self.lost else "True")

    def _pod(self, name: str, uid: str, node: str) -> msgspec.Raw:
        return _pod(name, uid, node, self.bound.get(uid))

    def _listed(self, resource: str) -> list[msgspec.Raw]:
        objects = {
            "nodes": lambda: [self._node(*node) for node in self.nodes.items()],
            "pods": lambda: [self._pod(name, *pod) for name, pod in self.pods.items()],
            NODE_RESOURCE_TOPOLOGIES.name: lambda: [_topology(*each) for each in self.described.items()],
        }[resource]()
        return self.chance.sample(objects, len(objects))

    def _see(self, resource: str, change: str, thing: msgspec.Raw) -> None:
        event = WatchEvent(change, thing)
        self._unseen.append((resource, event))
        if self._watch:
            self._take(self._watch[resource].watched(event, "1"))
            self._acknowledged()

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


def _node(name: str, uid: str, ready_status: str = "True") -> msgspec.Raw:
    ready = [{"type": "Ready", "status": ready_status}]
    status = {"allocatable": {"cpu": "4"}, "conditions": ready, "nodeInfo": {"kubeletVersion": "v1.36.1"}}
    return _raw({"metadata": {"name": name, "uid": uid, "resourceVersion": "1"}, "status": status})


def _pod(name: str, uid: str, node: str, bound_at: datetime | None) -> msgspec.Raw:
    metadata = {"name": name, "namespace": "d", "uid": uid, "resourceVersion": "1"}
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": bound_at and bound_at.isoformat()}
    status = {"phase": "Running", "conditions": [scheduled]} if node else {"phase": "Pending"}
    return _raw({"metadata": metadata, "spec": {"nodeName": node}, "status": status})


def _topology(name: str, uid: str) -> msgspec.Raw:
    cpus = {"name": "cpu", "capacity": "4", "allocatable": "4", "available": "2"}
    zones = [{"name": "node-0", "type": "Node", "resources": [cpus]}]
    metadata = {"name": name, "uid": uid, "resourceVersion": "1"}
    return _raw({"apiVersion": "topology.node.k8s.io/v1alpha1", "metadata": metadata, "zones": zones})


def _raw(thing: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(thing))


def _watched_and_died(world: World) -> None:
    """One watcher, from its beginning to its death at any moment, and a time without one."""
    chance = world.chance
    begin = chance.choice([world.begin_to_watch, world.resume])
    if chance.random() < 0.2:
        world.die(begin)
    else:
        begin()
        for _ in range(chance.randrange(8)):
            world.change()
            world.deliver(chance.randrange(3))
        if chance.random() < 0.2:
            world.compare()
        changes = chance.randrange(4)
        world.die(lambda: [world.change() for _ in range(changes)] if chance.random() < 0.8 else world.compare())
    for _ in range(chance.randrange(8)):
        world.change()


@settings(max_examples=150, deadline=None)
@given(chance=st.randoms(use_true_random=True))
def test_logs_know_existing_objects_after_any_watcher_was_away(chance: random.Random) -> None:
    """Watchers come, list, resume, compare and die while nodes and pods come and go, and Kafka brings what one log
    emits onto another at any time, but that a log began before the next watcher lists.
    """
    world = World(chance)
    for _ in range(chance.randrange(1, 6)):
        _watched_and_died(world)
    world.begin_to_watch()
    world.settle()
    for name in NAMES:
        bound = {uid for uid, node in world.pods.values() if node == name}
        assert world.known(name) == (name in world.nodes, bound, bound)
    cluster: Any = world.logs[CLUSTER].states
    pending = {uid for uid, _ in all_on(cluster["pending_pods"].pods)}
    assert pending == {uid for uid, node in world.pods.values() if not node}
    assert {name: node.uid for name, node in cluster["scheduling"].nodes.nodes.items()} == world.nodes
    numa = {*cluster["numa_cluster"].latest} if "numa_cluster" in cluster else set()
    assert numa == {*world.described}
    _check_rows(world)
    world.pass_minutes(10)
    episodes = {
        status: {(each.node, each.starts_at) for each in world.rows if _is_not_ready(each) and each.status == status}
        for status in ("firing", "resolved")
    }
    not_ready = {name for name, uid in world.nodes.items() if uid in world.lost}
    assert {node for node, _ in episodes["firing"] - episodes["resolved"]} == not_ready
    assert all(row.ends_at >= row.starts_at for row in world.rows if isinstance(row, Alert) and row.ends_at)


def _is_not_ready(row: object) -> bool:
    return isinstance(row, Alert) and row.alertname == "NodeNotReady"


def _rows(world: World, of: type[Any]) -> list[Any]:
    """Rows of a type in the order of their time, as a table has them."""
    return sorted((row for row in world.rows if isinstance(row, of)), key=lambda row: row.ts)


def _check_rows(world: World) -> None:
    """The last row of each node and pod is what there is."""
    nodes = {row.node: row for row in _rows(world, NodeRow)}
    assert {name: row.uid for name, row in nodes.items() if not row.deleted} == world.nodes
    ready = {name: row.ready for name, row in nodes.items() if not row.deleted}
    assert ready == {name: uid not in world.lost for name, uid in world.nodes.items()}
    pods = {row.uid: row for row in _rows(world, PodBinding)}
    assert {(row.uid, row.node) for row in pods.values() if row.change != "deleted"} == {*world.pods.values()}


@pytest.mark.parametrize("lost", [CLUSTER, None], ids=["its cluster had not heard of it", "all logs had"])
def test_a_pod_that_was_bound_is_not_pending_because_a_watcher_that_resumes_tells_both_again(
    lost: LogKey | None,
) -> None:
    """Its node's log has no news then; so the last row would have it as pending until it changes."""
    world = World(random.Random(1))  # noqa: S311  # a test that can be repeated
    world.nodes = {"a": "a-1"}
    world.begin_to_watch()
    told: list[Record] = []
    world._unsent = told
    world.pods = {"p": ("p-1", "")}
    world._see("pods", "ADDED", world._pod("p", "p-1", ""))
    world.clock.seconds += 1
    world.pods, world.bound = {"p": ("p-1", "a")}, {"p-1": world.clock.clock.now()}
    world._see("pods", "MODIFIED", world._pod("p", "p-1", "a"))
    world._unsent = None
    for record in told:
        if key_of(record) != lost:
            world._step(record)
    world.watch_no_more()
    world.resume()
    world.settle()
    assert [row.change for row in _rows(world, PodBinding)][-2:] == ["pending", "updated"]
    _check_rows(world)


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
