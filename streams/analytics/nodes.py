"""Changes of nodes, without heartbeats: table `nodes`.

In a dump, an Event that is newer than the Node object states what the node is now. Only the object counts for a node
that is watched. An Event comes early, late or again, and anyone who may create
Events can write one.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from ingest.model.objects.base import Condition
from ingest.model.objects.node import Node, NodeMetadata
from ingest.model.records import EventRecord, InventoryRecord, LogBeganRecord, NodeRecord
from streams.fold.findings import NodeRow
from streams.fold.reducer import Output, Reducer
from streams.rules.events.messages import parse_node_status
from streams.rules.kubelet.conditions import problems
from streams.rules.pod_ends.when import event_when
from streams.rules.scheduling.filters import UNSCHEDULABLE
from streams.rules.values.labels import pool, zone_key
from streams.rules.values.quantity import in_base_units

_READY: Final = {"True": True, "False": False}
_UNSAID: Final = Condition(type="Ready", status="")
"""Used for a missing condition: the Node was truncated, or created before its kubelet."""
_READ_APART: Final = timedelta(minutes=10)
"""An Event at least this much older than the reading of a Node is outdated, even if their clocks differ."""
_MICROSECOND: Final = timedelta(microseconds=1)
_REMOVED: Final = "RemovingNode"


class StateEvent(msgspec.Struct, frozen=True):
    """The newest Event that states the node's condition."""

    at: datetime
    ready: bool | None
    """None if the node was removed."""
    is_answered: bool = False
    """True if the object changed after the Event."""


class State(msgspec.Struct, frozen=True):
    last: NodeRow | None = None
    """The node according to its object alone."""
    announced: StateEvent | None = None


def step(state: State, record: NodeRecord | InventoryRecord | EventRecord) -> tuple[State, Sequence[Output]]:
    if isinstance(record, InventoryRecord):
        return state, _vanished(state, record)
    if isinstance(record, EventRecord):
        return _concluded(state, _with_event(state, record))
    after, rows = _concluded(state, _with_node(state, record))
    began = _began(state.last, after.last)
    return after, [began, *rows] if began else rows


def _began(before: NodeRow | None, now: NodeRow | None) -> LogBeganRecord | None:
    """Register the UID of a node that replaced another one, whose deletion was not seen, with the cluster's log."""
    if now is None or not _is_another(before, now):
        return None
    return LogBeganRecord(ts=now.ts, cluster=now.cluster, target=now.node, uid=now.uid)


def _concluded(state: State, after: State) -> tuple[State, Sequence[Output]]:
    before, now = _rows(state), _rows(after)
    if now == before:
        return after, ()
    if now and before and now[-1] == before[-1]._replace(ts=now[-1].ts):  # a heartbeat changes nothing
        is_same = state.last is not None and after.last == state.last._replace(ts=now[-1].ts)
        return (msgspec.structs.replace(state, announced=after.announced) if is_same else after), ()
    new = [row for row in now if row not in before]
    if (
        not new and now and after.announced is not None
    ):  # an Event showed a change in between, so the return gets its own row
        again = after.announced.at
        new = [now[-1]._replace(ts=max(again, before[-1].ts + _MICROSECOND), ready_since=again)]
    return after, [*_replaced(state, after, new), *new]


def _replaced(state: State, after: State, new: Sequence[NodeRow]) -> Sequence[NodeRow]:
    """Return the unseen end of a node, if another node has taken its name."""
    before = _rows(state)
    ended_at = new[0].ts - _MICROSECOND if new else None
    if ended_at is None or not _is_another(state.last, after.last) or ended_at <= before[-1].ts:
        return ()
    return [before[-1]._replace(ts=ended_at, deleted=True)]


def _is_another(before: NodeRow | None, now: NodeRow | None) -> bool:
    """Tell whether a node took the name of one whose deletion was not seen."""
    if before is None or before.deleted or now is None:
        return False
    return now.uid not in {before.uid, ""} and before.uid != ""


def _with_node(state: State, record: NodeRecord) -> State:
    row, last, announced = _row(record), state.last, state.announced
    if record.reconciled:
        if last is None:
            return state
        row = last._replace(ts=record.ts, deleted=True)
    if last is not None and not row.says_ready and row.uid == last.uid:
        row = row._replace(ready=last.ready, ready_since=last.ready_since, ready_message=last.ready_message)
    if last is not None and (row.uid, row.ready, row.ready_since) == (last.uid, last.ready, last.ready_since):
        row = row._replace(ready_message=last.ready_message)  # some have a duration, which always changes
    if announced is not None and record.change != "ADDED":
        announced = msgspec.structs.replace(announced, is_answered=True)
    return State(row, announced)


def _with_event(state: State, record: EventRecord) -> State:
    event = record.object
    involved = event.involved
    if record.change == "DELETED" or involved.kind != "Node":
        return state
    found = parse_node_status(event.reason, event.text)
    is_ready = found.status if found is not None and found.condition == "Ready" else None
    when = event_when(event, record.ts)
    if when.at != record.ts:  # the node is watched; an Event of a dump has its own time
        return state
    is_newer = state.announced is None or when.at > state.announced.at
    if not (is_newer and when.is_known) or (is_ready is None and event.reason != _REMOVED):
        return state
    return msgspec.structs.replace(state, announced=StateEvent(when.at, is_ready))


def _rows(state: State) -> list[NodeRow]:
    """Return the node according to its object, and according to a newer Event, which gives no reason."""
    row, said = state.last, state.announced
    if row is None:
        return []
    if said is None or said.is_answered or row.deleted or row.ready_since is None:
        return [row]
    is_newer = said.at > max(row.ready_since, row.created_at or row.ready_since)
    if not is_newer or row.ts - said.at > _READ_APART or said.ready is bool(row.ready):
        return [row]
    later = row._replace(ts=max(said.at, row.ts + _MICROSECOND))
    if said.ready is None:
        return [row, later._replace(deleted=True)]
    return [row, later._replace(ready=said.ready, ready_since=said.at, ready_message="")]


def _vanished(state: State, inventory: InventoryRecord) -> Sequence[Output]:
    """Delete the node whose deletion was not seen, unless it was recreated after the list."""
    last = state.last
    if inventory.resource != "nodes" or last is None or last.deleted or last.ts > inventory.ts:
        return ()
    node = Node(NodeMetadata(last.node, uid=last.uid, creation_timestamp=last.created_at))
    return [
        NodeRecord(
            ts=inventory.ts, cluster=last.cluster, node=last.node, change="DELETED", object=node, reconciled=True
        )
        for _ in inventory.gone([last.uid])
    ]


def _row(record: NodeRecord) -> NodeRow:
    node = record.object
    conditions = node.status.conditions or ()
    condition = next((each for each in conditions if each.type == "Ready"), _UNSAID)
    found = problems(conditions)
    return NodeRow(
        *record.row_key,
        uid=node.metadata.uid,
        created_at=node.metadata.creation_timestamp,
        kubelet_version=node.status.node_info.kubelet_version,
        zone_key=zone_key(node.metadata.labels),
        unschedulable=node.spec.unschedulable,
        deleted=record.change == "DELETED",
        ready=_READY.get(condition.status),
        taints=sorted(f"{t.key}={t.value}:{t.effect}" for t in node.spec.taints or ()),
        capacity=in_base_units(node.status.capacity),
        allocatable=in_base_units(node.status.allocatable),
        ready_since=condition.last_transition_time,
        ready_message=_message(condition),
        pool=pool(node.metadata.labels),
        labels=node.metadata.labels or {},
        problems={each.type: each.words for each in found},
        problems_since={each.type: each.since for each in found if each.since is not None},
        cordoned_since=_cordoned_since(node),
    )


def _cordoned_since(node: Node) -> datetime | None:
    taints = node.spec.taints or () if node.spec.unschedulable else ()
    return next((taint.time_added for taint in taints if taint.key == UNSCHEDULABLE.key), None)


def _message(condition: Condition) -> str:
    """Return the message, or for Unknown its reason, because an empty message would mean a missing condition."""
    if condition.status == "True":
        return ""
    return condition.message or (condition.reason or condition.status if condition.status == "Unknown" else "")


REDUCER: Final = Reducer(
    name="nodes", version=2, log="node", takes=(NodeRecord, InventoryRecord, EventRecord), state=State, step=step
)
