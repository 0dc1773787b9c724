"""Nodes as they were seen to change, their heartbeats left out: table `nodes`."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ingest.model.objects.node import Node, NodeMetadata
from ingest.model.records import InventoryRecord, NodeRecord
from streams.fold.findings import NodeRow
from streams.fold.reducer import Output, Reducer
from streams.rules.values.quantity import in_base_units
from streams.rules.values.zone import zone_key


class State(msgspec.Struct, frozen=True):
    last: NodeRow | None = None


def step(state: State, record: NodeRecord | InventoryRecord) -> tuple[State, Sequence[Output]]:
    if isinstance(record, InventoryRecord):
        return state, _vanished(state, record)
    row = _row(record)
    if record.reconciled:
        if state.last is None:
            return state, ()
        row = state.last._replace(ts=record.ts, deleted=True)
    if state.last is not None and row == state.last._replace(ts=row.ts):
        return state, ()
    return State(row), (row,)


def _vanished(state: State, inventory: InventoryRecord) -> Sequence[Output]:
    """The deletion of the node that nobody saw; nothing where it was made anew since the list."""
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
        ready=_ready(node),
        taints=sorted(f"{t.key}={t.value}:{t.effect}" for t in node.spec.taints or ()),
        capacity=in_base_units(node.status.capacity),
        allocatable=in_base_units(node.status.allocatable),
    )


def _ready(node: Node) -> bool | None:
    status = next((c.status for c in node.status.conditions or () if c.type == "Ready"), "Unknown")
    return {"True": True, "False": False}.get(status)


REDUCER: Final = Reducer(
    name="nodes", version=1, log="node", takes=(NodeRecord, InventoryRecord), state=State, step=step
)
