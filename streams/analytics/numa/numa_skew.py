"""Distribution of exclusive CPUs over the NUMA nodes of each node (glossary.md#numa, rules: numa-sources).

Tables `numa_allocations`, `numa_pods`, `numa_skew`, `numa_whatif`, `numa_disagreements`, `numa_resources` and
`numa_admission_failures`.

Rows are written only when a number changed. An account without NUMA nodes (fidelity none) shows in `numa_skew` at
once, but in `numa_allocations` and `numa_pods` only after a minute, because a better source may be read next.

The Event and the pod's status are witnesses of the same refusal, and the first of them writes its row. A pod that ran
and is refused when its kubelet restarts can end `Succeeded` without a reason: then the Event is the only one
(rules: admission-failures).
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from common.amounts import counted
from ingest.messages.reasons import without_rejection
from ingest.model.objects.event import event_time
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
from streams.analytics.numa.rows import due_disagreements, summary_record, with_pending
from streams.analytics.numa.state import State, cpu_policy, topology_policy
from streams.analytics.numa.whatif import whatif_rows
from streams.fold.findings import NumaAdmissionFailure, NumaAllocation, NumaPod, NumaResource, NumaSkew, NumaWhatif
from streams.fold.reducer import Output, Reducer
from streams.fold.shelves import on_shelf, put, without
from streams.rules.events.admission import Refusal, parse_refusal
from streams.rules.events.messages import message_body
from streams.rules.numa.resolve import Account, account, best_account, disagreements
from streams.rules.pod_ends.when import When, ended_by_status
from streams.rules.pods.requests import exclusive_cpus, hands_cpus_over

REASONS: Final = frozenset({"TopologyAffinityError", "SMTAlignmentError", "UnexpectedAdmissionError", "OutOfcpu"})
MAX_REMEMBERED: Final = 500
_READ_WITHIN: Final = timedelta(minutes=1)
"""A reading up to so long after a refusal shows how the node was then."""
_MANAGERS: Final = frozenset({"topology_manager", "cpu_manager", "memory_manager"})


_TAKEN_OVER: Final = (
    " Its init container was given CPUs first, and its containers must take them over: of these and other CPUs"
    " the request did not fit."
)


class _Refused(NamedTuple):
    namespace: str
    pod: str
    uid: str
    reason: str
    message: str
    requested_cpus: int
    when: When
    hands_cpus_over: bool = False


def refusal(state: State, record: PodRecord | EventRecord) -> tuple[State, Sequence[NumaAdmissionFailure]]:
    """Return the row of a refusal if this record is its first witness."""
    if isinstance(record, PodRecord) and record.change == "DELETED":
        uid = record.object.metadata.uid
        if on_shelf(state.refused, uid):
            state = msgspec.structs.replace(state, refused=without(state.refused, uid))
        return state, ()
    found = _of_status(record) if isinstance(record, PodRecord) else _of_event(state, record)
    if found is None:
        return _remembered(state, record), ()
    refusal = parse_refusal(found.reason, found.message)
    if on_shelf(state.refused, found.uid) or not _is_about_numa(state, found, refusal):
        return state, ()
    if isinstance(record, PodRecord):
        found = _with_end(found, record)
    if (at := state.refused_at.get(found.uid)) is not None:
        found = found._replace(when=When(at))
    row = _row(state, record, found, refusal)
    return msgspec.structs.replace(state, refused=put(state.refused, found.uid, True)), (row,)


def _remembered(state: State, record: Record) -> State:
    """Remember the time of a refusal whose pod is not known yet."""
    event = record.object if isinstance(record, EventRecord) else None
    if event is None or event.reason not in REASONS or not event.involved.uid:
        return state
    if on_shelf(state.refused, event.involved.uid):
        return state
    kept = dict(list(state.refused_at.items())[-MAX_REMEMBERED:])
    return msgspec.structs.replace(state, refused_at={**kept, event.involved.uid: event_time(event) or record.ts})


def _of_status(record: PodRecord) -> _Refused | None:
    metadata, status = record.object.metadata, record.object.status
    if status.phase != "Failed":
        return None
    text, cpus = without_rejection(status.message), exclusive_cpus(record.object)
    return _Refused(metadata.namespace, metadata.name, metadata.uid, status.reason, text, cpus, When(record.ts))


def _with_end(found: _Refused, record: PodRecord) -> _Refused:
    """Add the facts that only the row of a refusal needs."""
    pod = record.object
    when = ended_by_status(pod, record.ts, starts_with_it=record.change == "ADDED", is_rejection=True)
    return found._replace(when=when, hands_cpus_over=hands_cpus_over(pod))


def _of_event(state: State, record: EventRecord) -> _Refused | None:
    """Return the refusal of a known pod that requests exclusive CPUs, because the Event lacks their number."""
    event = record.object
    involved = event.involved
    known = state.pods.get(involved.uid)
    if record.change == "DELETED" or event.type != "Warning" or known is None or not known.is_active:
        return None
    text = message_body(event.text)
    when = When(event_time(event) or record.ts)
    return _Refused(known.namespace, known.pod, involved.uid, event.reason, text, known.cpus, when)


def _is_about_numa(state: State, found: _Refused, refusal: Refusal) -> bool:
    """Tell whether the text names a manager of NUMA or CPUs, or CPUs of a pod that holds them exclusively here."""
    return refusal.refused_by in _MANAGERS or (refusal.is_about_cpus and _is_exclusive(state, found))


def _is_exclusive(state: State, found: _Refused) -> bool:
    return found.requested_cpus > 0 and cpu_policy(state) == "static"


def _row(state: State, record: Record, found: _Refused, refusal: Refusal) -> NumaAdmissionFailure:
    shown = state.shown.skew
    is_then = shown is not None and found.when.is_known and shown.ts <= found.when.at + _READ_WITHIN
    free, fit = (shown.free_cpus, shown.largest_fit_cpus) if shown and is_then else (None, None)
    room = _room(state, found, is_then=is_then) if refusal.refused_by == "topology_manager" else ""
    return NumaAdmissionFailure(
        cluster=record.cluster,
        ts=found.when.at,
        node=record.node,
        namespace=found.namespace,
        pod=found.pod,
        uid=found.uid,
        reason=found.reason,
        message=found.message,
        requested_cpus=found.requested_cpus,
        free_cpus=free,
        largest_fit_cpus=fit,
        topology_manager_policy=topology_policy(state),
        source=shown.source if shown else "",
        fidelity=shown.fidelity if shown else "none",
        explanation=f"{refusal.words}{room}",
    )


def _room(state: State, found: _Refused, *, is_then: bool) -> str:
    """Describe the CPUs that were free; what is read later can be free since then, and only the pod's own stay."""
    if not _is_exclusive(state, found):
        return ""
    requests, shown = f" The pod requests {counted(found.requested_cpus, 'exclusive CPU')}", state.shown.skew
    if shown is None:
        return f"{requests}."
    free, fit = shown.free_cpus, shown.largest_fit_cpus
    read = "" if is_then else " when the node was read"
    had = (
        "" if free is None else f", and {counted(free, 'CPU was', 'CPUs were') if free else 'no CPU was'} free{read}"
    )
    largest = "" if fit is None or free == 0 else f", at most {fit} of them on one NUMA node"
    held = state.checkpoint.holders if state.checkpoint is not None else ()
    is_kept = found.hands_cpus_over and (is_then or any(each.uid == found.uid for each in held))
    taken_over = _TAKEN_OVER if is_kept and fit is not None and fit >= found.requested_cpus else ""
    return f"{requests}{had}{largest}.{taken_over}"


SETTLED_AFTER: Final = timedelta(minutes=1)

R = TypeVar("R", NumaAllocation, NumaPod, NumaResource, NumaWhatif)


def step(state: State, record: Record) -> tuple[State, Sequence[Output]]:
    if isinstance(record, ForgetRecord) or (isinstance(record, NodeRecord) and record.change == "DELETED"):
        return State(), _deletion_record(state, record.ts)
    updated = state if isinstance(record, EventRecord) else _TAKE[type(record)](state, record)
    outputs: list[Output] = []
    if isinstance(record, MetricsRecord) and updated is not state:
        outputs += numa_rows.stale_gauge_rows(record, updated)
    if isinstance(record, PodRecord | EventRecord):
        updated, refusals = refusal(updated, record)
        outputs += refusals
    unchanged = isinstance(record, NodeResourceTopologyRecord) and updated.objects is state.objects
    if updated is state or unchanged:
        return updated, outputs
    if not updated.node:
        updated = msgspec.structs.replace(updated, cluster=record.cluster, node=record.node)
    updated, concluded = _conclude(updated, record.ts)
    return updated, [*outputs, *concluded]


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
