"""Distribution of exclusive CPUs over the NUMA nodes of each node (glossary.md#numa, rules: numa-sources).

Tables `numa_allocations`, `numa_pods`, `numa_skew`, `numa_whatif`, `numa_disagreements`, `numa_resources` and
`numa_admission_failures`.

Rows are written only when a number changed. An account without NUMA nodes (fidelity none) shows in `numa_skew` at
once, but in `numa_allocations` and `numa_pods` only after a minute, because a better source may be read next.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Final, TypeVar

import msgspec

from ingest.model.records import (
    CpuManagerRecord,
    CpuTopologyRecord,
    EventRecord,
    ForgetRecord,
    InventoryRecord,
    KnownNodeRecord,
    MemoryManagerRecord,
    MetricsRecord,
    NodeNumaRecord,
    NodeRecord,
    NodeResourceTopologyRecord,
    PodRecord,
    PodResourcesRecord,
    Record,
    SettingsRecord,
    SourceErrorRecord,
)
from streams.analytics.numa import intake as numa_intake
from streams.analytics.numa import rows as numa_rows
from streams.analytics.numa import state as numa_state
from streams.analytics.numa.refusals import refusal
from streams.analytics.numa.rows import due_disagreements, summary_record, with_pending
from streams.analytics.numa.state import State
from streams.analytics.numa.whatif import whatif_rows
from streams.fold.findings import NumaAllocation, NumaPod, NumaResource, NumaSkew, NumaWhatif
from streams.fold.reducer import Output, Reducer
from streams.rules.numa.resolve import Account, account, best_account, disagreements

SETTLED_AFTER: Final = timedelta(minutes=1)

R = TypeVar("R", NumaAllocation, NumaPod, NumaResource, NumaWhatif)


def step(state: State, record: Record) -> tuple[State, Sequence[Output]]:
    if isinstance(record, ForgetRecord) or (isinstance(record, NodeRecord) and record.change == "DELETED"):
        return State(), _deletion_record(state, record.ts)
    taken = state if isinstance(record, EventRecord) else _TAKE[type(record)](state, record)
    outputs: list[Output] = []
    if isinstance(record, MetricsRecord) and taken is not state:
        outputs += numa_rows.stale_gauge_rows(record, taken)
    if isinstance(record, PodRecord | EventRecord):
        taken, refusals = refusal(taken, record)
        outputs += refusals
    unchanged = isinstance(record, NodeResourceTopologyRecord) and taken.objects is state.objects
    if taken is state or unchanged:
        return taken, outputs
    if not taken.node:
        taken = msgspec.structs.replace(taken, cluster=record.cluster, node=record.node)
    taken, concluded = _conclude(taken, record.ts)
    return taken, [*outputs, *concluded]


def expire(state: State, watermark: datetime) -> tuple[State, Sequence[Output]]:
    """Emit conclusions that had to last for a while: accounts without NUMA nodes, and disagreements."""
    if state.vague_since and not state.is_settled and watermark - state.vague_since >= SETTLED_AFTER:
        return _conclude(msgspec.structs.replace(state, is_settled=True), watermark)
    return due_disagreements(state, watermark)


def _conclude(state: State, ts: datetime) -> tuple[State, list[Output]]:
    known = numa_state.facts(state)
    accounts = [account(view, known) for view in numa_state.views(state)]
    best = best_account(accounts)
    state, rows = _resources(state, ts)
    if best is None:
        return state, rows
    of_pods = numa_rows.pod_account(state, accounts)
    is_vague = best.fidelity == "none" or (of_pods is not None and of_pods.fidelity == "none")
    state = _with_vagueness(with_pending(state, disagreements(best, accounts), ts), ts, is_vague=is_vague)
    if best.fidelity != "none" or state.is_settled:
        state, written = _allocations(state, ts, best, accounts)
        rows += written
    if of_pods is None or of_pods.fidelity != "none" or state.is_settled:
        state, written = _pods(state, ts, of_pods)
        rows += written
    else:
        of_pods = None
    spanning = len({row.uid for row in state.shown.pods.values() if row.aligned is False})
    state, written = _skew(state, numa_rows.skew_row(state, ts, best, spanning))
    rows += written
    state, written = _summary(state, ts, summary_record(state, ts, best, of_pods, spanning))
    rows += written
    state, written = due_disagreements(state, ts)
    return state, rows + written


def _resources(state: State, ts: datetime) -> tuple[State, list[Output]]:
    resources, rows = _updated(state.shown.resources, numa_rows.resource_rows(state, ts), _resource_key)
    return _with_shown(state, resources=resources), [*rows]


def _allocations(
    state: State, ts: datetime, best: Account, accounts: Sequence[Account]
) -> tuple[State, list[Output]]:
    now = numa_rows.allocation_rows(state, ts, best, accounts)
    allocations, rows = _updated(_with_witnesses(state.shown.allocations, now), now, _allocation_key)
    return _with_shown(state, allocations=allocations), [*rows]


def _pods(state: State, ts: datetime, of_pods: Account | None) -> tuple[State, list[Output]]:
    pods, rows = _updated(state.shown.pods, numa_rows.pod_rows(state, ts, of_pods), numa_rows.pod_key)
    return _with_shown(state, pods=pods), [*rows]


def _skew(state: State, now: NumaSkew) -> tuple[State, list[Output]]:
    last = state.shown.skew
    changed = last is None or now != last._replace(ts=now.ts)
    return _with_shown(state, skew=now), [now] if changed else []


def _summary(state: State, ts: datetime, now: NodeNumaRecord | None) -> tuple[State, list[Output]]:
    """Summarise for the analysis across nodes; if CPUs or pods changed, include the result of other strategies."""
    last, whatif, rows = state.shown.summary, state.shown.whatif, list[Output]()
    if now is None:
        rows += _deletion_record(state, ts)
    elif last is None or now != msgspec.structs.replace(last, ts=ts):
        if _places_differently(now, last):
            has_gangs = "gang" in whatif or any(claim.group for claim in now.claims)
            placed = whatif_rows(state.cluster, ts, state.node, [now], has_gangs=has_gangs)
            whatif, changed = _updated(whatif, placed, attrgetter("strategy"))
            rows += changed
        rows.append(now)
    return _with_shown(state, summary=now, whatif=whatif), rows


def _with_vagueness(state: State, ts: datetime, *, is_vague: bool) -> State:
    if is_vague:
        return state if state.vague_since else msgspec.structs.replace(state, vague_since=ts)
    if state.vague_since is None:
        return state
    return msgspec.structs.replace(state, vague_since=None, is_settled=False)


def _with_witnesses(shown: dict[str, NumaAllocation], now: Iterable[NumaAllocation]) -> dict[str, NumaAllocation]:
    """Return the last rows without the witnesses that they lost.

    Sources are read one after the other, so they differ briefly at each change. If they continue to differ,
    that is a disagreement.
    """
    kept = dict(shown)
    for row in now:
        last = shown.get(_allocation_key(row))
        if last is not None and set(row.witnesses) < set(last.witnesses):
            kept[_allocation_key(row)] = last._replace(witnesses=row.witnesses)
    return kept


def _deletion_record(state: State, ts: datetime) -> list[Output]:
    if state.shown.summary is None:
        return []
    return [NodeNumaRecord(ts=ts, cluster=state.cluster, target=state.node, gone=True)]


def _with_shown(state: State, **changes: Any) -> State:
    return msgspec.structs.replace(state, shown=msgspec.structs.replace(state.shown, **changes))


def _updated(shown: dict[str, R], now: Iterable[R], key: Callable[[R], str]) -> tuple[dict[str, R], list[R]]:
    """Return the last written rows by key, and the rows of `now` that must be written."""
    written, changed = {}, []
    for row in now:
        last = shown.get(key(row))
        same = last is not None and last._replace(ts=row.ts) == row
        written[key(row)] = last if last is not None and same else row
        if not same:
            changed.append(row)
    return written, changed


def _places_differently(summary: NodeNumaRecord, last: NodeNumaRecord | None) -> bool:
    if last is None:
        return bool(summary.claims)
    return (summary.bins, summary.claims, summary.single_numa) != (last.bins, last.claims, last.single_numa)


def _allocation_key(row: NumaAllocation) -> str:
    return str(row.numa_node)


def _resource_key(row: NumaResource) -> str:
    return f"{row.source}/{row.numa_node}/{row.resource}"


_TAKE: Final[dict[type[Record], Callable[[State, Any], State]]] = {
    NodeRecord: numa_intake.take_node,
    KnownNodeRecord: numa_intake.take_node,
    PodRecord: numa_intake.take_pod,
    CpuManagerRecord: numa_intake.take_checkpoint,
    MemoryManagerRecord: numa_intake.take_memory,
    MetricsRecord: numa_intake.take_metrics,
    CpuTopologyRecord: numa_intake.take_topology,
    PodResourcesRecord: numa_intake.take_podresources,
    SourceErrorRecord: numa_intake.take_error,
    SettingsRecord: numa_intake.take_settings,
    NodeResourceTopologyRecord: numa_intake.take_object,
    InventoryRecord: numa_intake.take_inventory,
}

REDUCER: Final = Reducer(
    name="numa_skew",
    version=2,
    log="node",
    takes=(*_TAKE, EventRecord, ForgetRecord),
    state=State,
    step=step,
    expire=expire,
)
