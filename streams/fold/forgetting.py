"""Which logs of nodes are given up. Once a node is gone its log has no time of its own, so the cluster's decides.

The cluster's log knows every log of a node that remembers something, since each registers with its first record, and
which nodes exist. See `streams.fold.fold` for what the log of the node does then.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from ingest.model.records import ForgetRecord, LogBeganRecord, NodeRecord
from streams.fold.reducer import Output, Reducer

FORGOTTEN_AFTER: Final = timedelta(hours=6)
"""Of event time without the node. An API server keeps Events for an hour, OpenShift's for three, and a watcher that
was away lists them as late as that: they still meet what is known of their node, and are not counted anew.
"""
QUIET: Final = timedelta(hours=1)
"""A log that has a record from within this time before its turn is kept: the node may be back."""


class State(msgspec.Struct, frozen=True):
    cluster: str = ""
    absent: dict[str, datetime | None] = {}
    """By node, since when it does not exist; None where it does."""


def step(state: State, record: NodeRecord | LogBeganRecord) -> tuple[State, Sequence[Output]]:
    node = record.target if isinstance(record, LogBeganRecord) else record.object.metadata.name
    absent = state.absent.get(node)
    if isinstance(record, LogBeganRecord):
        since = absent if node in state.absent else record.ts
    else:
        since = absent or record.ts if record.change == "DELETED" else None
    if node in state.absent and since == absent:
        return state, ()
    return State(record.cluster, {**state.absent, node: since}), ()


def expire(state: State, watermark: datetime) -> tuple[State | None, Sequence[Output]]:
    due = watermark - FORGOTTEN_AFTER
    over = sorted(node for node, since in state.absent.items() if since is not None and since <= due)
    if not over:
        return state, ()
    kept = {node: since for node, since in state.absent.items() if since is None or since > due}
    return (
        State(state.cluster, kept) if kept else None,
        [ForgetRecord(ts=watermark, cluster=state.cluster, node=node) for node in over],
    )


REDUCER: Final = Reducer(
    name="forgetting",
    version=1,
    log="cluster",
    takes=(NodeRecord, LogBeganRecord),
    state=State,
    step=step,
    expire=expire,
)
