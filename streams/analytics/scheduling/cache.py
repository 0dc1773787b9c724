"""Conclusions from a scheduler's own cache about its nodes (rules: scheduler-cache)."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from ingest.model.records import SchedulerCacheRecord
from streams.analytics.scheduling.cluster_nodes import existing_for, existing_within
from streams.analytics.scheduling.state import State
from streams.analytics.scheduling.verdicts import RETRIED, YOUNG, cluster_of
from streams.fold.findings import SchedulerBlindSpot
from streams.rules.scheduling.blind_spot import Counted, Finding, judge_cache

_MOST: Final = 100
"""Rows about nodes of one dump; the first row counts them all."""
HELD: Final = timedelta(seconds=90)
"""How much older than its record a number can be, at most."""


def judged_cache(state: State, record: SchedulerCacheRecord, scheduler_version: str) -> Iterator[SchedulerBlindSpot]:
    nodes, at = state.nodes, record.ts
    counted = _counted(state, at) if record.names is None else _named(state, at)
    settled = frozenset(name for name, node in nodes.nodes.items() if node.since <= at - YOUNG)
    known = frozenset(nodes.nodes) | {gone.name for gone in nodes.gone if gone.until >= at - YOUNG}
    version = cluster_of(nodes, scheduler_version).version
    findings = judge_cache(record.nodes, record.names, record.missed, counted, settled, known)
    for finding in findings[:_MOST]:
        yield _row(record, finding, version)


def _named(state: State, at: datetime) -> Counted:
    """For a dump, which leaves out what is deleted."""
    complete = state.began is not None and state.began <= at - YOUNG
    return Counted(existing_for(state.nodes, at, YOUNG), existing_within(state.nodes, at, YOUNG), complete)


def _counted(state: State, at: datetime) -> Counted:
    """For a number, which has nodes that are deleted for as long as they have pods. A node's creation is by another
    clock.
    """
    left = RETRIED + HELD
    complete = state.began is not None and state.began <= at - left
    highest = existing_within(state.nodes, at + YOUNG, left + YOUNG)
    return Counted(existing_for(state.nodes, at, YOUNG + HELD), highest, complete, "11 minutes")


def _row(record: SchedulerCacheRecord, finding: Finding, version: str) -> SchedulerBlindSpot:
    evidence = f"{record.scheduler}: {finding.evidence}" if record.scheduler else finding.evidence
    return SchedulerBlindSpot(
        record.cluster, record.ts, finding.verdict, "cache", finding.node, "", "", evidence, version
    )
