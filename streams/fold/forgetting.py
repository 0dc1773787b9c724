"""Decides which logs of nodes are forgotten. The log of a deleted node gets no more records, so the cluster's log
decides.

The cluster's log knows every log with state of a node that may not exist, because each registers with its first
record. Only bookmarks of watches advance its time, so an agent with a wrong clock cannot cause forgetting.
`streams.fold.fold` describes what the log of the node then does. Until then, each list without
pods of the node is passed on to that log, and each list without the node. A watcher that died may have published its
deletion on one of the two logs only.
"""

from bisect import bisect
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from ingest.model.records import ForgetRecord, HeartbeatRecord, InventoryRecord, LogBeganRecord, NodeRecord
from ingest.resources.nodes import NODES
from streams.fold.reducer import Output, Reducer

FORGOTTEN_AFTER: Final = timedelta(hours=6)
"""Event time since the last record about a node that does not exist.

An API server keeps Events for an hour, OpenShift's for three, and a watcher that was down may list them that late.
The state of their node must still be there, or they would be counted again.
"""


class State(msgspec.Struct, frozen=True):
    watched_until: datetime | None = msgspec.field(name="heard", default=None)
    """The last time at which a watch was known to be complete."""
    absent: dict[str, datetime] = {}
    """Nodes that may not exist, and since when. A log whose node exists ignores the order to forget."""
    uids: dict[str, str] = {}
    """The known UIDs of these nodes."""


def step(
    state: State, record: NodeRecord | LogBeganRecord | HeartbeatRecord | InventoryRecord
) -> tuple[State, Sequence[Output]]:
    watched_until, absent, uids = state.watched_until, state.absent, state.uids
    match record:
        case InventoryRecord(of_logs=True):
            return state, [record.nothing_left(node) for node in record.gone(absent)]
        case InventoryRecord():
            return state, _unseen(uids, record) if record.resource == NODES.name else ()
        case HeartbeatRecord(target=""):
            watched_until = max(record.ts, watched_until or record.ts)
        case LogBeganRecord(target=node):
            absent = {node: record.ts} | absent
            uids = uids | {node: record.uid} if record.uid else uids
        case NodeRecord(change="DELETED", object=gone):
            absent = absent | {gone.metadata.name: record.ts}
            uids = uids | {gone.metadata.name: gone.metadata.uid}
        case NodeRecord():
            absent = {node: since for node, since in absent.items() if node != record.object.metadata.name}
    orders: list[Output] = []
    if watched_until is not None:
        forgotten = sorted(node for node, since in absent.items() if watched_until - since >= FORGOTTEN_AFTER)
        orders = [ForgetRecord(ts=watched_until, cluster=record.cluster, node=node) for node in forgotten]
        absent = {node: since for node, since in absent.items() if watched_until - since < FORGOTTEN_AFTER}
    return State(watched_until, absent, {node: uid for node, uid in uids.items() if node in absent}), orders


def _unseen(uids: Mapping[str, str], listed: InventoryRecord) -> list[Output]:
    """Return, for each node that the list lacks, the smallest part of the list that shows this to the node's log."""
    gone, keys = {*listed.gone(uids.values())}, sorted(listed.keys)
    found: list[Output] = []
    for node, uid in sorted(uids.items()):
        if uid in gone:
            at = bisect(keys, uid)
            after, until = keys[at - 1] if at else listed.after, keys[at] if at < len(keys) else listed.until
            part = msgspec.structs.replace(listed, node=node, keys=tuple(keys[at : at + 1]), after=after, until=until)
            found.append(part)
    return found


REDUCER: Final = Reducer(
    name="forgetting",
    version=1,
    log="cluster",
    takes=(NodeRecord, LogBeganRecord, HeartbeatRecord, InventoryRecord),
    state=State,
    step=step,
)
