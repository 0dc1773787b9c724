"""Spans in which a watch missed nothing: table `watches` (rules: list-and-watch).

A stream without a record proves that nothing happened only from its complete list on, and while it was complete.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from ingest.model.records import HeartbeatRecord, SourceErrorRecord
from streams.fold.findings import Watch
from streams.fold.reducer import Output, Reducer


class State(msgspec.Struct, frozen=True):
    since: dict[str, datetime] = {}
    """Time since which each resource is watched without a break."""
    broken: dict[str, datetime] = {}
    """When each resource was last unwatched. A list that started before that proves nothing about later changes."""


def step(state: State, record: HeartbeatRecord | SourceErrorRecord) -> tuple[State, Sequence[Output]]:
    known = state.since.get(record.resource)
    broken = state.broken.get(record.resource)
    if isinstance(record, SourceErrorRecord):
        if known is None or (broken is not None and record.ts <= broken):
            return state, ()
        left = {name: at for name, at in state.since.items() if name != record.resource}
        return replace(state, since=left, broken={**state.broken, record.resource: record.ts}), ()
    if record.target or (broken is not None and (record.since or record.ts) < broken):
        return state, ()
    # a list covers the time from its start; a bookmark alone only the time from then on
    begun = record.since or record.ts
    since = begun if known is None else max(known, begun) if record.anew else known
    if since > record.ts:
        return state, ()
    row = Watch(record.cluster, record.ts, record.resource, since)
    return (state if since == known else replace(state, since={**state.since, record.resource: since})), (row,)


REDUCER: Final = Reducer(
    name="watches", version=1, log="cluster", takes=(HeartbeatRecord, SourceErrorRecord), state=State, step=step
)
