"""Tracks a cluster's nodes, with the time since which each exists and takes pods, and failures to be judged."""

from bisect import bisect_right, insort
from datetime import datetime, timedelta
from typing import Final
from zlib import crc32

import msgspec

from ingest.model.objects.node import Node, NodeMetadata, Taint
from ingest.model.objects.pod import Toleration
from ingest.model.records import HeartbeatRecord, InventoryRecord, NodeRecord, Record
from ingest.resources.nodes import NODES
from streams.fold.findings import SchedulerBlindSpot, SchedulingFailure
from streams.fold.shelves import Shelves, count_on, items, put, without
from streams.rules.values.labels import zone_key

CLOCK_MINUTES: Final = 10
"""Minutes between two records of the cluster's time on a node's log."""


class KnownNode(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    uid: str
    since: datetime
    """Creation time, or the first sighting if that is unknown."""
    zone: str
    version: str
    """Version of its kubelet."""
    open_since: datetime | None = None
    """Since when it has been Ready and not cordoned, with these taints; None if it is not."""
    taints: list[Taint] = []
    """Taints that keep pods away."""


class DeletedNode(msgspec.Struct, frozen=True, gc=False):
    """A recently deleted node."""

    name: str
    since: datetime
    until: datetime
    unseen: bool = False
    """True if its deletion was not seen, so it may have been gone for long."""


class ClusterNodes(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    nodes: dict[str, KnownNode] = {}
    since: list[datetime] = []
    """Start times of all nodes, sorted."""
    gone: list[DeletedNode] = []


def observe(state: ClusterNodes, record: NodeRecord) -> ClusterNodes:
    """Return the nodes after a node's record; the same object if a heartbeat changes nothing."""
    name = record.object.metadata.name
    before = state.nodes.get(name)
    if record.change == "DELETED":
        return state if before is None else _without(state, name, record)
    if before is not None and before.uid != record.object.metadata.uid:
        state, before = _without(state, name, record), None
    node = _known(record, before)
    if node == before:
        return state
    since = state.since
    if before is None:
        since = since.copy()
        insort(since, node.since)
    return msgspec.structs.replace(state, nodes={**state.nodes, name: node}, since=since)


def passed_on(state: ClusterNodes, record: InventoryRecord | HeartbeatRecord) -> list[Record]:
    """Return the records that a record of the cluster's log passes on to the logs of nodes."""
    if isinstance(record, InventoryRecord):
        return reconciled(state, record)
    return _send_time(state, record) if record.resource == NODES.name else []


def reconciled(state: ClusterNodes, inventory: InventoryRecord) -> list[Record]:
    """Apply a complete list: delete missing nodes, and inform logs that it does not name.

    If the log of a node is not among those with pods, its pods may all be gone: it gets an empty inventory.
    """
    if inventory.of_logs:
        return [inventory.nothing_left(name) for name in inventory.gone(state.nodes)]
    if inventory.resource != "nodes":
        return []
    of_uid = {node.uid: name for name, node in state.nodes.items()}
    gone = [(uid, of_uid[uid]) for uid in inventory.gone(of_uid)]
    return [
        *(_deletion(inventory, name, uid) for uid, name in gone),
        *(inventory.nothing_left(name) for _, name in gone),
    ]


def _send_time(state: ClusterNodes, sign: HeartbeatRecord) -> list[Record]:
    """Send the time to logs without data: once in CLOCK_MINUTES for each node, spread over the minutes."""
    turn = int(sign.ts.timestamp()) // 60 % CLOCK_MINUTES
    names = sorted(
        name for name in state.nodes if name and crc32(name.encode(errors="replace")) % CLOCK_MINUTES == turn
    )
    return [HeartbeatRecord(ts=sign.ts, cluster=sign.cluster, node=name, resource=sign.resource) for name in names]


def _deletion(inventory: InventoryRecord, name: str, uid: str) -> NodeRecord:
    node = Node(NodeMetadata(name, uid=uid))
    return NodeRecord(ts=inventory.ts, cluster=inventory.cluster, change="DELETED", object=node, reconciled=True)


def _known(record: NodeRecord, before: KnownNode | None) -> KnownNode:
    node = record.object
    taints = [
        msgspec.structs.replace(taint, time_added=None)
        for taint in node.spec.taints or ()
        if taint.effect in {"NoSchedule", "NoExecute"}
    ]
    ready_since = _ready_since(node, record.ts)
    if ready_since is not None and before is not None:
        still_open = before.open_since is not None and before.taints == taints
        ready_since = before.open_since if still_open else record.ts
    return KnownNode(
        uid=node.metadata.uid,
        since=before.since if before is not None else node.metadata.creation_timestamp or record.ts,
        zone=zone_key(node.metadata.labels),
        version=node.status.node_info.kubelet_version,
        open_since=ready_since,
        taints=taints,
    )


def _ready_since(node: Node, seen_at: datetime) -> datetime | None:
    if node.spec.unschedulable:
        return None
    ready = next((c for c in node.status.conditions or () if c.type == "Ready"), None)
    return None if ready is None or ready.status != "True" else ready.last_transition_time or seen_at


def _without(state: ClusterNodes, name: str, record: NodeRecord) -> ClusterNodes:
    """Remove a node if the record is about a new node of that name: the old one's deletion was not seen."""
    node = state.nodes[name]
    gone = DeletedNode(name, node.since, record.ts, unseen=record.reconciled or record.change != "DELETED")
    since = state.since.copy()
    since.remove(node.since)
    return ClusterNodes(
        nodes={other: known for other, known in state.nodes.items() if other != name},
        since=since,
        gone=sorted([*state.gone, gone], key=lambda gone: (gone.until, gone.name)),
    )


def forget_gone(state: ClusterNodes, before: datetime) -> ClusterNodes:
    if not state.gone or state.gone[0].until >= before:
        return state
    return msgspec.structs.replace(state, gone=[gone for gone in state.gone if gone.until >= before])


def existing_for(state: ClusterNodes, at: datetime, age: timedelta) -> int:
    """Count the nodes that certainly existed at a time, and had existed for longer than `age`."""
    begun = at - age
    return bisect_right(state.since, begun) + sum(
        gone.since <= begun and gone.until > at and not gone.unseen for gone in state.gone
    )


def existing_within(state: ClusterNodes, at: datetime, back: timedelta) -> int:
    """Count the nodes that existed at a time, or at any moment of the time `back` before it."""
    return bisect_right(state.since, at) + sum(gone.since <= at and gone.until >= at - back for gone in state.gone)


WAITING_LIMIT: Final = 50_000
"""Maximum number of texts of pods that are stored. The oldest are dropped first, and reported again if they
repeat.
"""
OPEN_LIMIT: Final = 20_000
"""Maximum number of failures that wait for their minute to end; a further one gets a row but no verdict."""


class Waiting(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The last text of a witness about a pod, so that it is reported once."""

    text: str
    """Its digest."""
    ts: datetime
    daemon_node: str = ""
    """The node for which a DaemonSet's pod was created."""


class OpenFailure(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A failure whose minute is not over yet."""

    row: SchedulingFailure
    oldest_minor: int = 0
    listed: bool = False
    """True if the pod is older than its first observation, so that its text may be old, too."""
    daemon: bool = False
    tolerations: list[Toleration] = []


class WholeCache(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A scheduler's cache that lacks no node."""

    at: datetime
    nodes: int
    dumped: bool = False
    """True if it names the nodes; otherwise only their number is known."""


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    cluster: str = ""
    began: datetime | None = None
    """The time of the log's first record."""
    nodes: ClusterNodes = ClusterNodes()
    waiting: Shelves[Waiting] = {}
    """Waiting pods by witness and pod."""
    open: Shelves[OpenFailure] = {}
    """Open failures by witness, pod and time."""
    placed: dict[str, datetime] = {}
    """The last minute in which each node got a pod that could have gone elsewhere."""
    starved: dict[str, tuple[datetime, str]] = {}
    """The last verdict about a node, and since when."""
    cache: WholeCache | None = None
    lost: list[SchedulerBlindSpot] = []
    """Rows about lost nodes that still lack the evidence of a complete cache."""


def remember(state: State, key: str, last: Waiting) -> State:
    return msgspec.structs.replace(state, waiting=put(state.waiting, key, last))


def forget_pod(state: State, pod: str) -> State:
    """Forget a pod that no longer needs a node."""
    waiting = without(without(without(state.waiting, f"condition/{pod}"), f"event/{pod}"), f"log/{pod}")
    return state if waiting is state.waiting else msgspec.structs.replace(state, waiting=waiting)


def forget_old(state: State, watermark: datetime, before: datetime, back: timedelta) -> State:
    """Forget failures from before `before`, and the surplus above the limits."""
    waiting = state.waiting
    if (beyond := count_on(waiting) - WAITING_LIMIT) > 0:
        for key, _ in sorted(items(waiting), key=lambda item: (item[1].ts, item[0]))[:beyond]:
            waiting = without(waiting, key)
    return msgspec.structs.replace(
        state,
        open={
            name: left
            for name, shelf in state.open.items()
            if (left := {key: each for key, each in shelf.items() if each.row.ts >= before})
        },
        placed={
            node: minute
            for node, minute in state.placed.items()
            if node in state.nodes.nodes or minute > watermark - back
        },
        waiting=waiting,
    )
