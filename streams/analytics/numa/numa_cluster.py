"""The skew among the nodes of a cluster, the late-joiner effect, and placements by other strategies.

Records of many nodes come in no fixed order, and the conclusions do not depend on it. A row summarises a minute of
event time, by the state of each node at its end, and is written again when an older record arrives. History is kept
for a day. `numa_whatif` is about the latest state only.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec

from common.amounts import counted
from ingest.model.records import NodeNumaRecord
from streams.analytics.numa.whatif import whatif_rows
from streams.fold.findings import LateJoiners, NumaSkew
from streams.fold.reducer import Output, Reducer
from streams.rules.numa import skew as rule
from streams.rules.numa.skew import GROUP_GAP, cluster_skew

NOTABLE_CORRELATION: Final = 0.5
NOTABLE_GAP: Final = 0.1
"""Limits of correlation and difference; if both are reached, nodes that joined later count as emptier."""
MOST_NAMES: Final = 50
"""Maximum number of nodes of a group that a row names."""
SHOWN_NAMES: Final = 5
"""Maximum number of names in its explanation."""
_FIDELITIES: Final = ("exact", "count")


class Entry(NamedTuple):
    ts: datetime
    gone: bool
    exclusive: int
    allocatable: int
    free: int
    fit: int
    spanning: int
    fidelity: str
    created_at: datetime | None
    control_plane: bool


def skew_row(cluster: str, bucket: datetime, nodes: Iterable[Entry]) -> NumaSkew:
    entries = list(nodes)
    total = cluster_skew([(each.exclusive, each.allocatable, each.free, each.fit) for each in entries])
    return NumaSkew(
        cluster=cluster,
        ts=bucket,
        scope="cluster",
        node="",
        **(total._asdict() if total else dict.fromkeys(rule.Skew._fields)),
        exclusive_cpus=sum(each.exclusive for each in entries),
        allocatable_cpus=sum(each.allocatable for each in entries),
        spanning_pods=sum(each.spanning for each in entries),
        nodes=len(entries),
        source="nodes",
        fidelity=max((each.fidelity for each in entries), key=_FIDELITIES.index, default="none"),
        assumed=[],
        explanation="",
    )


def late_joiners_row(cluster: str, bucket: datetime, nodes: dict[str, Entry], group_gap: timedelta) -> LateJoiners:
    aged = [
        rule.NodeAge(each.created_at, node, each.exclusive / each.allocatable)
        for node, each in nodes.items()
        if each.created_at is not None
    ]
    found = rule.late_joiners(aged, group_gap)
    oldest = found.groups[0] if found.groups else None
    youngest = found.groups[-1] if len(found.groups) > 1 else None
    free = sum(each.free for each in nodes.values())
    fit = max((each.fit for each in nodes.values()), default=0)
    verdict = _verdict(found)
    return LateJoiners(
        cluster=cluster,
        ts=bucket,
        verdict=verdict,
        rank_correlation=found.rank_correlation,
        gap_ratio=found.gap_ratio,
        nodes=len(aged),
        oldest_nodes=list(oldest.nodes[:MOST_NAMES]) if oldest else [],
        oldest_created_at=oldest and oldest.first_created_at,
        oldest_ratio=oldest and oldest.ratio,
        youngest_nodes=list(youngest.nodes[:MOST_NAMES]) if youngest else [],
        youngest_created_at=youngest and youngest.first_created_at,
        youngest_ratio=youngest and youngest.ratio,
        free_cpus=free,
        largest_fit_cpus=fit,
        explanation=_explanation(verdict, found, free, fit),
    )


def _verdict(found: rule.LateJoiners) -> str:
    if found.gap_ratio is None or found.rank_correlation is None:
        return "inconclusive"
    emptier = found.gap_ratio >= NOTABLE_GAP and found.rank_correlation >= NOTABLE_CORRELATION
    return "late_joiners_emptier" if emptier else "even"


def _explanation(verdict: str, found: rule.LateJoiners, free: int, fit: int) -> str:
    largest = f"the largest request that fits one NUMA node is {counted(fit, 'CPU')}"
    left = f"{counted(free, 'CPU is', 'CPUs are')} free, and {largest}"
    if verdict == "inconclusive":
        return f"there are too few nodes, or all have one age or are equally full, so age explains nothing; {left}"
    oldest, youngest = found.groups[0], found.groups[-1]
    return (
        f"nodes that joined last ({_names(youngest)}) have {youngest.ratio * 100:.0f} % of their exclusive CPUs in "
        f"use, those that joined first ({_names(oldest)}) {oldest.ratio * 100:.0f} %; {left}"
    )


def _names(group: rule.AgeGroup) -> str:
    shown, more = ", ".join(group.nodes[:SHOWN_NAMES]), len(group.nodes) - SHOWN_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


_TS: Final = attrgetter("ts")
BUCKET: Final = timedelta(minutes=1)
REMEMBERED: Final = timedelta(days=1)
SMALL_CLUSTER: Final = 100
"""Up to this many nodes, every change produces rows at once; above it, once a minute."""
FEW_PODS: Final = 50
"""Up to this many pods, every change places all pods again; above it, once a minute."""
MANY_PODS: Final = 1000
"""Above this many pods they are placed again every ten minutes."""


class State(msgspec.Struct, frozen=True):
    cluster: str = ""
    history: dict[str, tuple[Entry, ...]] = {}
    """History by node, in the order of event time."""
    buckets: tuple[datetime, ...] = ()
    """Minutes that have rows, in order."""
    latest: dict[str, NodeNumaRecord] = {}
    is_unsummed: bool = False
    """True if the newest minute of a large cluster has no rows yet."""
    is_unplaced: bool = False
    """True if pods of a large cluster changed since they were last placed."""
    was_placed: bool = False
    has_gangs: bool = False
    newest: datetime | None = None
    """Newest time of all records."""


def reducer(group_gap: timedelta) -> Reducer[State]:
    """Build the reducer; nodes that joined at least this long after one another are in different groups."""
    return Reducer(
        name="numa_cluster",
        version=1,
        log="cluster",
        takes=(NodeNumaRecord,),
        state=State,
        step=partial(step, group_gap=group_gap),
        expire=partial(expire, group_gap=group_gap),
    )


def step(state: State, record: NodeNumaRecord, *, group_gap: timedelta = GROUP_GAP) -> tuple[State, Sequence[Output]]:
    state, rows = _add_record(state, record, group_gap)
    if state.history[record.target][-1].ts > record.ts:
        return state, rows
    state = _with_latest(state, record)
    if len(state.latest) <= SMALL_CLUSTER and _pods(state) <= FEW_PODS:
        state, placed = _placed_again(state)
        rows += placed
    return state, rows


def expire(state: State, watermark: datetime, *, group_gap: timedelta = GROUP_GAP) -> tuple[State, Sequence[Output]]:
    """Write the pending rows of a large cluster, and forget history older than a day."""
    rows: list[Output] = []
    if state.is_unsummed:
        rows += _rows(state, state.buckets[-1], group_gap)
        state = msgspec.structs.replace(state, is_unsummed=False)
    is_due = _pods(state) <= MANY_PODS or not state.was_placed or watermark.minute % 10 == 0
    if state.is_unplaced and is_due:
        state, placed = _placed_again(state)
        rows += placed
    oldest = watermark - REMEMBERED
    if state.buckets and state.buckets[0] < oldest:
        state = _without_older(state, oldest)
    return state, rows


def _add_record(state: State, record: NodeNumaRecord, group_gap: timedelta) -> tuple[State, list[Output]]:
    """Add the record to its node's history, and return the rows of the minutes that it changes."""
    known = state.history.get(record.target, ())
    place = bisect_right(known, record.ts, key=_TS)
    entries = (*known[:place], _entry(record), *known[place:])
    bucket = record.ts.replace(second=0, microsecond=0)
    at = bisect_left(state.buckets, bucket)
    state = msgspec.structs.replace(
        state,
        cluster=record.cluster,
        history={**state.history, record.target: entries},
        buckets=state.buckets
        if state.buckets[at : at + 1] == (bucket,)
        else (*state.buckets[:at], bucket, *state.buckets[at:]),
    )
    until = entries[place + 1].ts if place + 1 < len(entries) else None
    touched = [b for b in state.buckets[bisect_left(state.buckets, bucket) :] if until is None or b < until]
    if len(state.history) > SMALL_CLUSTER and touched[-1:] == list(state.buckets[-1:]):
        del touched[-1]
        state = msgspec.structs.replace(state, is_unsummed=True)
    return state, [row for b in touched for row in _rows(state, b, group_gap)]


def _with_latest(state: State, record: NodeNumaRecord) -> State:
    latest = dict(state.latest)
    latest.pop(record.target, None)
    if not record.gone:
        latest[record.target] = record
    return msgspec.structs.replace(
        state,
        latest=latest,
        is_unplaced=True,
        has_gangs=state.has_gangs or any(claim.group for claim in record.claims),
        newest=max(record.ts, state.newest or record.ts),
    )


def _pods(state: State) -> int:
    return sum(len(each.claims) for each in state.latest.values())


def _without_older(state: State, oldest: datetime) -> State:
    history = {}
    for node, entries in state.history.items():
        kept = entries[max(0, bisect_right(entries, oldest, key=_TS) - 1) :]
        if len(kept) > 1 or not kept[0].gone:
            history[node] = kept
    buckets = state.buckets[bisect_left(state.buckets, oldest) :]
    return msgspec.structs.replace(state, history=history, buckets=buckets)


def _placed_again(state: State) -> tuple[State, list[Output]]:
    if not state.was_placed and not any(each.claims for each in state.latest.values()):
        return state, []
    state = msgspec.structs.replace(state, was_placed=True, is_unplaced=False)
    return state, _whatif(state)


def _entry(record: NodeNumaRecord) -> Entry:
    return Entry(
        ts=record.ts,
        gone=record.gone,
        exclusive=record.exclusive_cpus,
        allocatable=record.allocatable_cpus,
        free=record.free_cpus,
        fit=record.largest_fit_cpus,
        spanning=record.spanning_pods,
        fidelity=record.fidelity,
        created_at=record.created_at,
        control_plane=record.control_plane,
    )


def _rows(state: State, bucket: datetime, group_gap: timedelta) -> list[Output]:
    """Return both rows, even without nodes, because rows that were written with less knowledge must be replaced."""
    end = bucket + BUCKET
    nodes: dict[str, Entry] = {}
    for node, entries in state.history.items():
        last = entries[-1] if entries[-1].ts < end else _last_before(entries, end)
        if last is not None and not last.gone:
            nodes[node] = last
    takers = {node: each for node, each in nodes.items() if not each.control_plane and each.allocatable}
    return [
        skew_row(state.cluster, bucket, nodes.values()),
        late_joiners_row(state.cluster, bucket, takers, group_gap),
    ]


def _last_before(entries: Sequence[Entry], end: datetime) -> Entry | None:
    place = bisect_left(entries, end, key=_TS)
    return entries[place - 1] if place else None


def _whatif(state: State) -> list[Output]:
    """Place the pods again on the nodes that take pods; a control plane node counts only if it has some."""
    if state.newest is None:
        return []
    nodes = [each for _, each in sorted(state.latest.items()) if each.claims or not each.control_plane]
    return [*whatif_rows(state.cluster, state.newest, "", nodes, has_gangs=state.has_gangs)]


REDUCER: Final = reducer(GROUP_GAP)
