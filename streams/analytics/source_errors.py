"""Sources that could not be read, were silent, or may have missed changes: table `source_errors`.

An agent's silence is found by its signs of life on the cluster's log. All times of such rows are those of the silence
itself, whenever it is found: the same in every runtime.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec
from msgspec.structs import replace

from ingest.model.records import HeartbeatRecord, NodeRecord, SourceErrorRecord
from ingest.model.reports import AGENT
from streams.fold.findings import SourceError
from streams.fold.reducer import Output, Reducer, stateless

LIMIT_SECONDS: Final = 120
"""A silence is reported after this time, and again each time it has doubled."""
MOST_SECONDS: Final = timedelta(days=36_500).total_seconds()
"""Maximum length of a silence that is accepted, because a message can claim any number."""
MAX_HEARTBEAT_AGE: Final = timedelta(seconds=30)
"""A heartbeat that seems older than this, compared with watches, counts as this old, because its node's clock is
slow.
"""
FORGET: Final = timedelta(days=1)
"""Silence after which an agent counts as removed."""
LEFT: Final = timedelta(minutes=10)
"""An agent may still report for this long after its node's deletion."""


class LastHeartbeat(msgspec.Struct, frozen=True, array_like=True, gc=False):
    at: datetime
    """Time of its last heartbeat, or of its node's deletion."""
    report_seconds: int = LIMIT_SECONDS
    """Silence at which it is reported next; 0 if its node was deleted."""


def with_sign(
    agents: dict[str, LastHeartbeat], record: HeartbeatRecord, now: datetime | None
) -> dict[str, LastHeartbeat]:
    """Return the state after a heartbeat."""
    known = agents.get(record.target)
    if known is not None and not known.report_seconds and record.ts < known.at + LEFT:
        return agents
    at = record.ts if now is None else max(record.ts, now - MAX_HEARTBEAT_AGE)
    return {**agents, record.target: LastHeartbeat(max(at, known.at) if known is not None else at)}


def node_changed(agents: dict[str, LastHeartbeat], record: NodeRecord) -> dict[str, LastHeartbeat]:
    """Return the state after a record of a node; a deleted node's agent is no longer expected."""
    name = record.object.metadata.name
    known = agents.get(name)
    if known is None or (record.change == "DELETED") != bool(known.report_seconds):
        return agents
    return {**agents, name: LastHeartbeat(record.ts, 0 if record.change == "DELETED" else LIMIT_SECONDS)}


def judged(
    agents: Mapping[str, LastHeartbeat], cluster: str, now: datetime
) -> tuple[dict[str, LastHeartbeat], Sequence[SourceError]]:
    """Report agents that were silent up to a time, and for how long."""
    found: dict[str, LastHeartbeat] = {}
    rows: list[SourceError] = []
    for node, agent in agents.items():
        if now - agent.at > (FORGET if agent.report_seconds else LEFT):
            continue
        silent_seconds = (now - agent.at).total_seconds()
        report_seconds = agent.report_seconds
        while report_seconds and silent_seconds > report_seconds:
            rows.append(_agent_row(cluster, node, agent.at, report_seconds))
            report_seconds *= 2
        found[node] = agent if report_seconds == agent.report_seconds else LastHeartbeat(agent.at, report_seconds)
    return found, rows


def _agent_row(cluster: str, node: str, since: datetime, seconds: int) -> SourceError:
    return SourceError(
        cluster=cluster,
        ts=since + timedelta(seconds=seconds),
        node=node,
        resource=AGENT,
        kind="silent",
        silent_seconds=float(seconds),
        error=f"stream silent for {seconds} s",
    )


class ClusterState(msgspec.Struct, frozen=True):
    watched_until: dict[str, datetime] = msgspec.field(name="heard", default_factory=dict)
    """Time up to which every change of a resource was seen, by any watcher."""
    agents: dict[str, LastHeartbeat] = {}
    """Agents by node."""
    now: datetime | None = None
    """The newest time at which a watch was complete. Agents are judged by it, because their own clocks can be
    wrong.
    """


def cluster_step(
    state: ClusterState, record: SourceErrorRecord | HeartbeatRecord | NodeRecord
) -> tuple[ClusterState, Sequence[Output]]:
    match record:
        case SourceErrorRecord():
            return state, (_row(record, state.watched_until.get(record.resource)),)
        case NodeRecord():
            agents = node_changed(state.agents, record)
        case HeartbeatRecord(target=""):
            return _watch_alive(state, record)
        case HeartbeatRecord():
            agents = with_sign(state.agents, record, state.now)
    return (state if agents is state.agents else replace(state, agents=agents)), ()


def _watch_alive(state: ClusterState, record: HeartbeatRecord) -> tuple[ClusterState, Sequence[Output]]:
    until, whole = state.watched_until.get(record.resource), record.since or record.ts
    rows: list[Output] = []
    if record.anew and until is not None and until < whole:
        rows.append(_unwatched(record, until))
    if until is None or until < whole:
        state = replace(state, watched_until={**state.watched_until, record.resource: whole})
    if state.now is None or state.now < record.ts:
        agents, silent = judged(state.agents, record.cluster, record.ts)
        state, rows = replace(state, agents=agents, now=record.ts), [*rows, *silent]
    return state, rows


def _row(record: SourceErrorRecord, until: datetime | None) -> SourceError:
    since = (record.since or until) if record.problem == "gap" else None
    silent = record.silent_seconds
    return SourceError(
        *record.row_key,
        resource=record.resource,
        kind=record.problem,
        silent_seconds=_seconds(since, record.ts) if since else silent and min(max(silent, 0.0), MOST_SECONDS),
        error=record.error,
        entries=record.entries,
    )


def _seconds(since: datetime, until: datetime) -> float:
    """Return the seconds between two times, at least 0 because clocks of two machines may differ."""
    return max((until - since).total_seconds(), 0.0)


def _unwatched(record: HeartbeatRecord, until: datetime) -> SourceError:
    between = f"from {until:%Y-%m-%d %H:%M:%S} to {record.ts:%Y-%m-%d %H:%M:%S} UTC"
    return SourceError(
        cluster=record.cluster,
        ts=record.ts,
        node="",
        resource=record.resource,
        kind="gap",
        silent_seconds=_seconds(until, record.ts),
        error=f"gap: {record.resource} were not watched {between}; a new list showed what exists",
    )


REDUCER: Final = stateless("source_errors", "node", (SourceErrorRecord,), lambda record: (_row(record, None),))
CLUSTER_REDUCER: Final = Reducer(
    name="cluster_source_errors",
    version=2,
    log="cluster",
    takes=(SourceErrorRecord, HeartbeatRecord, NodeRecord),
    state=ClusterState,
    step=cluster_step,
)
