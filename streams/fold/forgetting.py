"""Decides which logs of nodes are forgotten. The log of a deleted node gets no more records, so the cluster's log
decides.

The cluster's log knows every log with state of a node that may not exist, because each registers with its first
record. Only the watches' signs of life advance its time, so an agent with a wrong clock cannot cause forgetting.
`streams.fold.fold` describes what the log of the node then does. Until then, each list without
pods of the node is passed on to that log.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from ingest.model.records import ForgetRecord, HeardRecord, InventoryRecord, LogBeganRecord, NodeRecord
from streams.fold.reducer import Output, Reducer

FORGOTTEN_AFTER: Final = timedelta(hours=6)
"""Event time since the last record about a node that does not exist. An API server keeps Events for an hour,
OpenShift's for three, and a watcher that was away may list them that late. The state of their
node must still be there, or they would be counted again.
"""


class State(msgspec.Struct, frozen=True):
    heard: datetime | None = None
    """The last time at which a watch was known to be complete."""
    absent: dict[str, datetime] = {}
    """Nodes that may not exist, and since when. A log that knows of its node ignores the order to forget."""


def step(
    state: State, record: NodeRecord | LogBeganRecord | HeardRecord | InventoryRecord
) -> tuple[State, Sequence[Output]]:
    heard, absent = state.heard, state.absent
    match record:
        case InventoryRecord():
            return state, [record.nothing_left(node) for node in record.gone(absent)] if record.of_logs else ()
        case HeardRecord(target=""):
            heard = max(record.ts, heard or record.ts)
        case LogBeganRecord(target=node):
            absent = {node: record.ts} | absent
        case NodeRecord(change="DELETED"):
            absent = absent | {record.object.metadata.name: record.ts}
        case NodeRecord():
            absent = {node: since for node, since in absent.items() if node != record.object.metadata.name}
    if heard is None:
        return State(heard, absent), ()
    kept = {node: since for node, since in absent.items() if heard - since < FORGOTTEN_AFTER}
    over = sorted(absent.keys() - kept.keys())
    return State(heard, kept), [ForgetRecord(ts=heard, cluster=record.cluster, node=node) for node in over]


REDUCER: Final = Reducer(
    name="forgetting",
    version=1,
    log="cluster",
    takes=(NodeRecord, LogBeganRecord, HeardRecord, InventoryRecord),
    state=State,
    step=step,
)
