"""Agents of nodes, by their signs of life on the cluster's log: which fell silent. A part of an analytic's state.

All times of rows are those of the silence itself, whenever it is found: the same in every runtime.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from ingest.model.records import HeardRecord, NodeRecord
from ingest.model.reports import AGENT
from streams.fold.findings import SourceError

LIMIT_SECONDS: Final = 120
"""A silence is reported then, and again each time it has doubled."""
LATE: Final = timedelta(seconds=30)
"""A sign of life that seems older than this, by the watches, is as new as this: its node's clock is slow."""
FORGET: Final = timedelta(days=1)
"""Silence after which the agent counts as removed."""
LEFT: Final = timedelta(minutes=10)
"""So long an agent may still be heard of whose node was deleted."""


class Agent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    at: datetime
    """When it was heard last; where its node was deleted, when that was."""
    report_seconds: int = LIMIT_SECONDS
    """Silence after which it is reported next; 0 if its node was deleted."""


def heard_of(agents: dict[str, Agent], record: HeardRecord, now: datetime | None) -> dict[str, Agent]:
    """After a sign of life."""
    known = agents.get(record.target)
    if known is not None and not known.report_seconds and record.ts < known.at + LEFT:
        return agents
    at = record.ts if now is None else max(record.ts, now - LATE)
    return {**agents, record.target: Agent(max(at, known.at) if known is not None else at)}


def node_changed(agents: dict[str, Agent], record: NodeRecord) -> dict[str, Agent]:
    """After a record of a node: nothing is expected of the agent of one that was deleted."""
    name = record.object.metadata.name
    known = agents.get(name)
    if known is None or (record.change == "DELETED") != bool(known.report_seconds):
        return agents
    return {**agents, name: Agent(record.ts, 0 if record.change == "DELETED" else LIMIT_SECONDS)}


def judged(
    agents: Mapping[str, Agent], cluster: str, now: datetime
) -> tuple[dict[str, Agent], Sequence[SourceError]]:
    """Report agents that were silent up to a time, and for how long."""
    found: dict[str, Agent] = {}
    rows: list[SourceError] = []
    for node, agent in agents.items():
        if now - agent.at > (FORGET if agent.report_seconds else LEFT):
            continue
        silent_seconds = (now - agent.at).total_seconds()
        report_seconds = agent.report_seconds
        while report_seconds and silent_seconds > report_seconds:
            rows.append(_row(cluster, node, agent.at, report_seconds))
            report_seconds *= 2
        found[node] = agent if report_seconds == agent.report_seconds else Agent(agent.at, report_seconds)
    return found, rows


def _row(cluster: str, node: str, since: datetime, seconds: int) -> SourceError:
    return SourceError(
        cluster=cluster,
        ts=since + timedelta(seconds=seconds),
        node=node,
        resource=AGENT,
        kind="silent",
        silent_seconds=float(seconds),
        error=f"stream silent for {seconds} s",
    )
