"""Sources that could not be read, were silent, or may have missed changes: table `source_errors`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from ingest.model.records import HeardRecord, NodeRecord, SourceErrorRecord
from streams.analytics.agents import Agent, heard_of, judged, node_changed
from streams.fold.findings import SourceError
from streams.fold.reducer import Output, Reducer


class State(msgspec.Struct, frozen=True):
    """Nothing: on a node's log each record stands for itself."""


class ClusterState(msgspec.Struct, frozen=True):
    heard: dict[str, datetime] = {}
    """Time up to which every change of a resource was seen, by any watcher."""
    agents: dict[str, Agent] = {}
    """Agents by node."""
    now: datetime | None = None
    """The newest time at which a watch was whole. Agents are judged by it: a clock of theirs can be wrong."""


def step(state: State, record: SourceErrorRecord) -> tuple[State, Sequence[Output]]:
    return state, (_row(record, None),)


def cluster_step(
    state: ClusterState, record: SourceErrorRecord | HeardRecord | NodeRecord
) -> tuple[ClusterState, Sequence[Output]]:
    match record:
        case SourceErrorRecord():
            return state, (_row(record, state.heard.get(record.resource)),)
        case NodeRecord():
            agents = node_changed(state.agents, record)
        case HeardRecord(target=""):
            return _watch_heard(state, record)
        case HeardRecord():
            agents = heard_of(state.agents, record, state.now)
    return (state if agents is state.agents else replace(state, agents=agents)), ()


def _watch_heard(state: ClusterState, record: HeardRecord) -> tuple[ClusterState, Sequence[Output]]:
    heard = state.heard.get(record.resource)
    rows: list[Output] = []
    if record.anew and heard is not None and heard < record.ts:
        rows.append(_unwatched(record, heard))
    whole = record.since or record.ts
    if heard is None or heard < whole:
        state = replace(state, heard={**state.heard, record.resource: whole})
    if state.now is None or state.now < record.ts:
        agents, silent = judged(state.agents, record.cluster, record.ts)
        state, rows = replace(state, agents=agents, now=record.ts), [*rows, *silent]
    return state, rows


def _row(record: SourceErrorRecord, heard: datetime | None) -> SourceError:
    since = (record.since or heard) if record.problem == "gap" else None
    return SourceError(
        cluster=record.cluster,
        ts=record.ts,
        node=record.node,
        resource=record.resource,
        kind=record.problem,
        silent_seconds=_seconds(since, record.ts) if since else record.silent_seconds,
        error=record.error,
        entries=record.entries,
    )


def _seconds(since: datetime, until: datetime) -> float:
    """Not below 0, though clocks of two machines may differ."""
    return max((until - since).total_seconds(), 0.0)


def _unwatched(record: HeardRecord, heard: datetime) -> SourceError:
    """Report the time between two watches, of any processes."""
    between = f"from {heard:%Y-%m-%d %H:%M:%S} to {record.ts:%Y-%m-%d %H:%M:%S} UTC"
    return SourceError(
        cluster=record.cluster,
        ts=record.ts,
        node="",
        resource=record.resource,
        kind="gap",
        silent_seconds=_seconds(heard, record.ts),
        error=f"gap: nobody watched {record.resource} {between}; a new list reconciled what is there",
    )


REDUCER: Final = Reducer(
    name="source_errors", version=1, log="node", takes=(SourceErrorRecord,), state=State, step=step
)
CLUSTER_REDUCER: Final = Reducer(
    name="cluster_source_errors",
    version=2,
    log="cluster",
    takes=(SourceErrorRecord, HeardRecord, NodeRecord),
    state=ClusterState,
    step=cluster_step,
)
