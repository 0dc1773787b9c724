"""Nodes as they were seen to change, their heartbeats left out: table `nodes`."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ingest.model.objects.base import Condition
from ingest.model.objects.node import Node, NodeMetadata
from ingest.model.records import InventoryRecord, NodeRecord
from streams.fold.findings import NodeRow
from streams.fold.reducer import Output, Reducer
from streams.rules.kubelet.conditions import problems
from streams.rules.values.labels import pool, zone_key
from streams.rules.values.quantity import in_base_units

_READY: Final = {"True": True, "False": False}
_UNSAID: Final = Condition(type="Ready", status="")
"""Stands for the condition of a Node that was cut before it, or made before its kubelet."""


class State(msgspec.Struct, frozen=True):
    last: NodeRow | None = None


def step(state: State, record: NodeRecord | InventoryRecord) -> tuple[State, Sequence[Output]]:
    if isinstance(record, InventoryRecord):
        return state, _vanished(state, record)
    row, last = _row(record), state.last
    if record.reconciled:
        if last is None:
            return state, ()
        row = last._replace(ts=record.ts, deleted=True)
    if last is not None and _is_unsaid(row) and row.uid == last.uid:
        row = row._replace(ready=last.ready, ready_since=last.ready_since, ready_message=last.ready_message)
    if last is not None and (row.uid, row.ready, row.ready_since) == (last.uid, last.ready, last.ready_since):
        row = row._replace(ready_message=last.ready_message)  # some have a duration in it, new in each heartbeat
    if last is not None and row == last._replace(ts=row.ts):
        return state, ()
    return State(row), (row,)


def _vanished(state: State, inventory: InventoryRecord) -> Sequence[Output]:
    """Delete the node whose deletion nobody saw; nothing if it was recreated since the list."""
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
        cluster=record.cluster,
        ts=record.ts,
        node=record.node,
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
    )


def _is_unsaid(row: NodeRow) -> bool:
    return row.ready is None and not row.ready_message


def _message(condition: Condition) -> str:
    """An Unknown without words has those of its reason: no message at all means that nothing is said."""
    if condition.status == "True":
        return ""
    return condition.message or (condition.reason or condition.status if condition.status == "Unknown" else "")


REDUCER: Final = Reducer(
    name="nodes", version=2, log="node", takes=(NodeRecord, InventoryRecord), state=State, step=step
)
