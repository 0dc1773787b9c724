"""The scheduler's cache and queues as witnesses of `scheduling` (rules: scheduler-cache, blind-spots)."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from ingest.model.records import SchedulerCacheRecord
from streams.analytics.scheduling.cluster_nodes import State, WholeCache, existing_for, existing_within
from streams.analytics.scheduling.verdicts import RETRIED, YOUNG, cluster_of, spot
from streams.fold.findings import SchedulerBlindSpot, SchedulingQueue
from streams.fold.reducer import Output
from streams.rules.scheduling.blind_spot import Counted, judge_cache, with_whole_cache

_MOST: Final = 100
"""Maximum number of rows about nodes of one dump, the first of which has their total; also of rows that wait for a
dump.
"""
HELD: Final = timedelta(seconds=90)
"""A count of nodes is at most this much older than its record."""
_WITNESSED: Final = timedelta(minutes=10)
"""A dump is evidence only within this time, because a restarted scheduler builds a new cache."""


def cache_seen(state: State, record: SchedulerCacheRecord) -> tuple[State, Sequence[Output]]:
    """Judge a dump: report faults of the cache or, if it is complete, blame the node list that is built from it."""
    queues = [
        SchedulingQueue(record.cluster, record.ts, record.scheduler, each.queue, each.pods, list(each.uids))
        for each in record.queues
    ]
    findings = list(judged_cache(state, record))
    if findings or not _is_a_witness(state, record):
        return state, (*queues, *findings)
    whole = WholeCache(record.ts, record.nodes, record.names is not None)
    near = [each for each in state.lost if abs(each.ts - whole.at) <= _WITNESSED]
    state, lost = witnessed(replace(state, cache=whole, lost=[]), near)
    return state, (*queues, *lost)


def witnessed(state: State, rows: Sequence[Output]) -> tuple[State, list[Output]]:
    """Add the evidence of a complete cache to rows about lost nodes; remember rows without one."""
    found, lost = list[Output](), state.lost
    for row in rows:
        if not isinstance(row, SchedulerBlindSpot) or row.verdict != "lost_node":
            found.append(row)
        elif state.cache is not None and _had_all_nodes(state, state.cache, row.ts):
            later = (state.cache.at - row.ts).total_seconds()
            evidence = with_whole_cache(row.evidence, state.cache.nodes, later if state.cache.dumped else None)
            found.append(row._replace(evidence=evidence))
        else:
            found.append(row)
            others = [each for each in lost if each[1:7] != row[1:7]]
            lost = [*others, row][-_MOST:]
    return (state if lost is state.lost else replace(state, lost=lost)), found


def _had_all_nodes(state: State, cache: WholeCache, at: datetime) -> bool:
    """Tell whether a complete cache shows the nodes of that time: the two are close, and no node joined in
    between.
    """
    since = state.nodes.since
    return abs(at - cache.at) <= _WITNESSED and bisect_right(since, cache.at) >= bisect_right(since, at)


def _is_a_witness(state: State, record: SchedulerCacheRecord) -> bool:
    """Tell whether a faultless cache has all nodes; only the leader's dump has queues."""
    if record.names is not None:
        return record.nodes > 0
    counted = _counted(state, record.ts)
    return bool(record.queues) and counted.lowest == counted.highest == record.nodes


def judged_cache(state: State, record: SchedulerCacheRecord) -> Iterator[SchedulerBlindSpot]:
    nodes, at = state.nodes, record.ts
    counted = _counted(state, at) if record.names is None else _named(state, at)
    settled = frozenset(name for name, node in nodes.nodes.items() if node.since <= at - YOUNG)
    known = frozenset(nodes.nodes) | {gone.name for gone in nodes.gone if gone.until >= at - YOUNG}
    version = cluster_of(nodes).version
    nodes_there = None if record.cut else record.nodes
    findings = judge_cache(nodes_there, record.names, record.missed, counted, settled, known)
    for finding in findings[:_MOST]:
        evidence = f"{record.scheduler}: {finding.evidence}" if record.scheduler else finding.evidence
        yield spot("cache", finding._replace(evidence=evidence), version, record.cluster, at)


def _named(state: State, at: datetime) -> Counted:
    """Count nodes for a dump, which leaves out deleted ones."""
    complete = state.began is not None and state.began <= at - YOUNG
    return Counted(existing_for(state.nodes, at, YOUNG), existing_within(state.nodes, at, YOUNG), complete)


def _counted(state: State, at: datetime) -> Counted:
    """Count nodes for a number, which includes a deleted node while it has pods. Creation times are by another
    clock.
    """
    left = RETRIED + HELD
    complete = state.began is not None and state.began <= at - left
    highest = existing_within(state.nodes, at + YOUNG, left + YOUNG)
    return Counted(existing_for(state.nodes, at, YOUNG + HELD), highest, complete, "11 minutes")
