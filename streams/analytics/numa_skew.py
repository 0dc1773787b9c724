"""How unevenly exclusive CPUs lie on the NUMA nodes of each node: tables `numa_allocations`, `numa_pods`, `numa_skew`,
`numa_whatif`, `numa_disagreements`, `numa_resources` and `numa_admission_failures` (domain-reference A; design).

Rows are written only when a number changed. An account without NUMA nodes (fidelity none) shows in `numa_skew` at
once, but in `numa_allocations` and `numa_pods` only after a minute, because the source that knows may be read next.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar

import msgspec

from ingest.records import (
    CpuManagerRecord,
    CpuTopologyRecord,
    MemoryManagerRecord,
    MetricsRecord,
    NodeNumaRecord,
    NodeRecord,
    NodeResourceTopologyRecord,
    PodRecord,
    Record,
    SettingsRecord,
)
from streams.analytics.numa_rows import (
    admission_failure,
    allocation_rows,
    disagreement_row,
    pod_rows,
    resource_rows,
    skew_row,
    stale_gauge_rows,
    summary_record,
)
from streams.analytics.numa_state import (
    Pending,
    Shown,
    State,
    facts,
    take_checkpoint,
    take_memory,
    take_metrics,
    take_node,
    take_object,
    take_pod,
    take_settings,
    take_topology,
    views,
)
from streams.analytics.numa_whatif import whatif_rows
from streams.findings import NumaAllocation, NumaPod, NumaResource, NumaWhatif
from streams.reducer import Output, Reducer
from streams.rules.numa_resolve import Account, account, best_account, disagreements

SETTLED_AFTER: Final = timedelta(minutes=1)
DISAGREES_AFTER: Final = timedelta(minutes=2)
"""Exporters follow the kubelet by up to a minute; a shorter difference is a delay, not a disagreement."""
REFUSALS: Final = frozenset({"TopologyAffinityError", "SMTAlignmentError", "UnexpectedAdmissionError", "OutOfcpu"})

R = TypeVar("R", NumaAllocation, NumaPod, NumaResource, NumaWhatif)


def step(state: State, record: Record) -> tuple[State, Sequence[Output]]:
    before = state
    said: list[Output] = []
    match record:
        case NodeRecord(change="DELETED"):
            return State(), _farewell(state, record.ts)
        case NodeRecord():
            state = take_node(state, record)
        case PodRecord():
            state, said = _refusal(take_pod(state, record), record)
        case CpuManagerRecord():
            state = take_checkpoint(state, record)
        case MetricsRecord():
            state = take_metrics(state, record)
            if state is not before and state.gauges is not None and state.gauges.quirk:
                said = [*stale_gauge_rows(record, state.gauges, state.metrics)]
        case MemoryManagerRecord():
            state = take_memory(state, record)
        case CpuTopologyRecord():
            state = take_topology(state, record)
        case SettingsRecord():
            state = take_settings(state, record)
        case NodeResourceTopologyRecord():
            state = take_object(state, record)
    if state is before:
        return state, said
    if not state.node:
        state = msgspec.structs.replace(state, cluster=record.cluster, node=record.node)
    state, concluded = _conclude(state, record.ts)
    return state, [*said, *concluded]


def expire(state: State, watermark: datetime) -> tuple[State, Sequence[Output]]:
    """Say what had to stand for a while: disagreements, and accounts without NUMA nodes."""
    settles = (
        state.vague_since is not None and not state.is_settled and watermark - state.vague_since >= SETTLED_AFTER
    )
    if settles:
        return _conclude(msgspec.structs.replace(state, is_settled=True), watermark)
    return _tell_disagreements(state, watermark)


def _conclude(state: State, ts: datetime) -> tuple[State, list[Output]]:
    known = facts(state)
    accounts = [account(view, known) for view in views(state)]
    best = best_account(accounts)
    resources = resource_rows(state, ts)
    if best is None:
        state, rows = _show_resources(state, resources)
        return state, rows
    state = _with_vagueness(state, best, ts)
    state = _with_disagreements(state, disagreements(best, accounts), ts)
    shown = state.shown
    allocations, pods = shown.allocations, shown.pods
    if best.fidelity != "none" or state.is_settled:
        allocations = tuple(allocation_rows(state, ts, best, accounts))
        pods = tuple(pod_rows(state, ts, accounts))
    summary = summary_record(state, ts, best, accounts)
    whatif: tuple[NumaWhatif, ...] = ()
    if summary is not None and (summary.claims or shown.whatif):
        whatif = shown.whatif
        if shown.summary is None or _differs(summary, shown.summary):
            whatif = tuple(whatif_rows(state.cluster, ts, state.node, [summary]))
    skew = skew_row(state, ts, best, pods)
    now = Shown(allocations, pods, skew, whatif, tuple(resources), summary)
    rows = _changes(shown, now)
    state, told = _tell_disagreements(msgspec.structs.replace(state, shown=_as_written(shown, now)), ts)
    return state, [*rows, *told]


def _changes(shown: Shown, now: Shown) -> list[Output]:
    rows: list[Output] = [
        *_changed(shown.allocations, now.allocations),
        *_changed(shown.pods, now.pods),
        *_changed(shown.whatif, now.whatif),
        *_changed(shown.resources, now.resources),
    ]
    if now.skew is not None and (shown.skew is None or now.skew != shown.skew._replace(ts=now.skew.ts)):
        rows.append(now.skew)
    if now.summary is not None:
        if shown.summary is None or _differs(now.summary, shown.summary):
            rows.append(now.summary)
    elif shown.summary is not None:
        rows.append(_gone(shown.summary, shown.summary.ts))
    return rows


def _as_written(shown: Shown, now: Shown) -> Shown:
    """Keep rows that did not change with the time at which they were written."""
    return Shown(
        allocations=_kept(shown.allocations, now.allocations),
        pods=_kept(shown.pods, now.pods),
        skew=now.skew,
        whatif=_kept(shown.whatif, now.whatif),
        resources=_kept(shown.resources, now.resources),
        summary=now.summary,
    )


def _changed(shown: Sequence[R], now: Sequence[R]) -> list[R]:
    same = {row._replace(ts=now[0].ts) for row in map(_hashable, shown)} if now else set()
    return [row for row in now if _hashable(row) not in same]
