"""A cluster that is watched now and then, and the logs of nodes and of the cluster that learn of it."""

import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from fakes.clock import FakeClock
from ingest.apiserver.changes import Changes, Step
from ingest.apiserver.watch_events import WatchEvent
from ingest.model.records import LogBeganRecord, Record, SourceErrorRecord
from ingest.normalize.redact import Received
from ingest.resources.node_resource_topologies import NODE_RESOURCE_TOPOLOGIES
from ingest.resources.nodes import NODES
from ingest.resources.pods import PODS
from ingest.resources.resource import ApiResource
from streams.analytics.registry import REDUCERS
from streams.fold.fold import Fold, LogKey, LogState
from streams.fold.shelves import items

NAMES = ("a", "b", "c")
CLUSTER = LogKey("lab", "")
WATCHED: tuple[ApiResource[Any], ...] = (NODES, PODS, NODE_RESOURCE_TOPOLOGIES)


class Saved(NamedTuple):
    """A snapshot of etcd: fields of World."""

    nodes: dict[str, str]
    lost: set[str]
    described: dict[str, str]
    pods: dict[str, tuple[str, str]]
    bound: dict[str, datetime]


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
        self.pending_again: set[str] = set()
        """UIDs of pods that a restore of etcd took from their nodes."""
        self.recreated: set[str] = set()
        """Nodes that are others after a restore: the end of one, seen late, takes what describes the other."""
        self.logs: defaultdict[LogKey, LogState] = defaultdict(LogState)
        self.rows: list[Any] = []
        self._fold = Fold(REDUCERS)
        self._watch: dict[str, Changes] = {}
        self.unsent: list[Record] | None = None
        """Records that do not reach Kafka yet, while the watcher is about to die."""
        self._unseen: list[tuple[str, WatchEvent]] = []
        """Events that the API server would show one who resumes at the last version of which Kafka has everything."""
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
        for each in self._listed(name):
            key, steps = changes.listed(each)
            present.append(key)
            self._take(steps)
        self._take([*changes.vanished(present, "1"), *changes.inventory(), changes.began(began)])

    def _acknowledged(self) -> None:
        if self.unsent is None:
            self._unseen = []

    def watch_no_more(self) -> None:
        self._watch = {}

    def die(self, act: Callable[[], object]) -> None:
        """The watcher dies while what it published is on its way to Kafka: each log has the first of it, one more
        than another. What is for the cluster's is sent when Kafka has all before it.
        """
        self.unsent = []
        act()
        unsent, self.unsent = self.unsent, None
        left = {key: self.chance.randrange(len(unsent) + 1) for key in sorted({key_of(record) for record in unsent})}
        is_whole = True
        for record in unsent:
            key = key_of(record)
            if key == CLUSTER and not is_whole:
                break
            left[key] -= 1
            if left[key] >= 0:
                self.step(record)
            else:
                is_whole = False
        self.watch_no_more()

    def changes(self, count: int) -> None:
        for _ in range(count):
            self.change()

    def change(self) -> None:
        """Something happens; it is seen where somebody watches."""
        self.clock.seconds += 5
        name, node = self.chance.choice(NAMES), self.chance.choice(NAMES)
        kind = self.chance.choice(["node", "ready", "describe", "pod", "pod", "bind"])
        if kind == "node":
            if uid := self.nodes.pop(name, ""):
                self.see("nodes", "DELETED", self.node(name, uid))
                if described := self.described.pop(name, ""):  # its owner is gone
                    self.see(NODE_RESOURCE_TOPOLOGIES.name, "DELETED", topology_object(name, described))
            else:
                self.nodes[name] = self._uid()
                self.see("nodes", "ADDED", self.node(name, self.nodes[name]))
        elif kind == "ready" and name in self.nodes:
            self.lost ^= {self.nodes[name]}
            self.see("nodes", "MODIFIED", self.node(name, self.nodes[name]))
        elif kind == "describe" and name in self.nodes and name not in self.described:
            self.described[name] = self._uid()
            self.see(NODE_RESOURCE_TOPOLOGIES.name, "ADDED", topology_object(name, self.described[name]))
        elif kind == "pod":
            if pod := self.pods.pop(name, None):
                self.see("pods", "DELETED", self.pod(name, *pod))
            else:
                self.pods[name] = (self._uid(), "")
                self.see("pods", "ADDED", self.pod(name, *self.pods[name]))
        elif kind == "bind" and name in self.pods and not self.pods[name][1] and node in self.nodes:
            self.pods[name] = (self.pods[name][0], node)
            self.bound[self.pods[name][0]] = self.clock.clock.now()
            self.see("pods", "MODIFIED", self.pod(name, *self.pods[name]))

    def deliver(self, count: int) -> None:
        """Deliver the records that were emitted onto other logs."""
        for _ in range(min(count, len(self._emitted))):
            self.step(self._emitted.popleft())

    def _register(self) -> None:
        """Deliver the records that logs emit to their cluster's."""
        began = [each for each in self._emitted if isinstance(each, LogBeganRecord)]
        self._emitted = deque(each for each in self._emitted if not isinstance(each, LogBeganRecord))
        for each in began:
            self.step(each)

    def settle(self) -> None:
        while self._emitted:
            self.deliver(1)

    def known(self, node: str) -> tuple[bool, set[str], set[str]]:
        """Return whether a node's log takes the node for alive, and the pods that two of its reducers know."""
        states: dict[str, Any] = self.logs[LogKey("lab", node)].states
        last = states["nodes"].last if "nodes" in states else None
        bindings = {uid for uid, _ in items(states["pod_bindings"].pods)} if "pod_bindings" in states else set()
        fit = {uid for uid, _ in items(states["node_fit"].pods)} if "node_fit" in states else set()
        return last is not None and not last.deleted, bindings, fit

    def saved(self) -> "Saved":
        """Return what etcd has."""
        return Saved(dict(self.nodes), {*self.lost}, dict(self.described), dict(self.pods), dict(self.bound))

    def restore(self, saved: "Saved") -> None:
        """Put etcd back to a snapshot; no watch shows that."""
        self.clock.seconds += 60
        self.pending_again = {uid for uid, node in saved.pods.values() if not node and uid in self.bound}
        self.recreated = {name for name, uid in saved.nodes.items() if self.nodes.get(name, uid) != uid}
        self.nodes, self.lost, self.described, self.pods, self.bound = saved
        self._unseen = []

    def pass_minutes(self, count: int) -> None:
        """Nothing happens; each kubelet that there is does not answer, which moves the time of its log."""
        for _ in range(count):
            self.clock.seconds += 60
            now = self.clock.clock.now()
            for name in self.nodes:
                self.step(SourceErrorRecord(ts=now, cluster="lab", node=name, resource="stats/summary", error="-"))
            self.settle()

    def _uid(self) -> str:
        return f"{self.chance.getrandbits(64):016x}"

    def node(self, name: str, uid: str) -> msgspec.Raw:
        return node_object(name, uid, "False" if uid in self.lost else "True")

    def pod(self, name: str, uid: str, node: str) -> msgspec.Raw:
        return pod_object(name, uid, node, self.bound.get(uid))

    def _listed(self, resource: str) -> list[msgspec.Raw]:
        objects = {
            "nodes": lambda: [self.node(*node) for node in self.nodes.items()],
            "pods": lambda: [self.pod(name, *pod) for name, pod in self.pods.items()],
            NODE_RESOURCE_TOPOLOGIES.name: lambda: [topology_object(*each) for each in self.described.items()],
        }[resource]()
        return self.chance.sample(objects, len(objects))

    def see(self, resource: str, change: str, thing: msgspec.Raw) -> None:
        event = WatchEvent(change, thing)
        self._unseen.append((resource, event))
        if self._watch:
            self._take(self._watch[resource].watched(event, "1"))
            self._acknowledged()

    def _take(self, steps: list[Step]) -> None:
        for seen in steps:
            for record in (
                Received(seen.observation, seen.decoded).normalize_with_warning()[0] if seen.observation else ()
            ):
                if self.unsent is None:
                    self.step(record)
                else:
                    self.unsent.append(record)

    def step(self, record: Record) -> None:
        for output in self._fold.step(self.logs[key_of(record)], record):
            if isinstance(output, Record):
                self._emitted.append(output)
            else:
                self.rows.append(output)


def key_of(record: Record) -> LogKey:
    return LogKey(record.cluster, record.node)


def node_object(name: str, uid: str, ready_status: str = "True") -> msgspec.Raw:
    ready = [{"type": "Ready", "status": ready_status}]
    status = {"allocatable": {"cpu": "4"}, "conditions": ready, "nodeInfo": {"kubeletVersion": "v1.36.1"}}
    return raw({"metadata": {"name": name, "uid": uid, "resourceVersion": "1"}, "status": status})


def pod_object(name: str, uid: str, node: str, bound_at: datetime | None) -> msgspec.Raw:
    metadata = {"name": name, "namespace": "d", "uid": uid, "resourceVersion": "1"}
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": bound_at and bound_at.isoformat()}
    status = {"phase": "Running", "conditions": [scheduled]} if node else {"phase": "Pending"}
    return raw({"metadata": metadata, "spec": {"nodeName": node}, "status": status})


def topology_object(name: str, uid: str) -> msgspec.Raw:
    cpus = {"name": "cpu", "capacity": "4", "allocatable": "4", "available": "2"}
    zones = [{"name": "node-0", "type": "Node", "resources": [cpus]}]
    metadata = {"name": name, "uid": uid, "resourceVersion": "1"}
    return raw({"apiVersion": "topology.node.k8s.io/v1alpha1", "metadata": metadata, "zones": zones})


def raw(thing: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(thing))
