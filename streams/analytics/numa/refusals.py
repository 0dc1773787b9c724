"""Pods that a kubelet refused for NUMA or CPUs, and what was free on the node: rows of `numa_admission_failures`.

The Event and the pod's status are witnesses of the same refusal, and the first of them writes the row. A pod that ran
and is refused when its kubelet restarts can end `Succeeded` without a reason: then the Event is the only witness
(rules: admission-failures).
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, NamedTuple

import msgspec

from common.amounts import counted
from ingest.messages.reasons import without_rejection
from ingest.model.objects.event import event_time
from ingest.model.records import EventRecord, PodRecord, Record
from streams.analytics.numa.state import State, cpu_policy, topology_policy
from streams.fold.findings import NumaAdmissionFailure
from streams.fold.shelves import on_shelf, put, taken
from streams.rules.events.admission import Refusal, parse_refusal
from streams.rules.events.messages import message_body
from streams.rules.pod_ends.when import When, ended_by_status
from streams.rules.pods.requests import exclusive_cpus, hands_cpus_over

REASONS: Final = frozenset({"TopologyAffinityError", "SMTAlignmentError", "UnexpectedAdmissionError", "OutOfcpu"})
MAX_REMEMBERED: Final = 500
_READ_WITHIN: Final = timedelta(minutes=1)
"""A reading up to this long after a refusal shows the node's state at the refusal."""
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
            state = msgspec.structs.replace(state, refused=taken(state.refused, uid))
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
    """Store the time of a refusal whose pod is not known yet."""
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
    """Add facts that only the row of a refusal needs."""
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
    """Describe the CPUs that were free.

    A later reading may contain CPUs that became free since, so only the pod's own request stays certain.
    """
    if not _is_exclusive(state, found):
        return ""
    requests, shown = f" The pod requests {counted(found.requested_cpus, 'exclusive CPU')}", state.shown.skew
    if shown is None:
        return f"{requests}."
    free, fit = shown.free_cpus, shown.largest_fit_cpus
    read = "" if is_then else " when the node was read"
    had = "" if free is None else f", and {counted(free, 'CPU was', 'CPUs were')} free{read}"
    largest = "" if fit is None else f", at most {fit} of them on one NUMA node"
    held = state.checkpoint.holders if state.checkpoint is not None else ()
    is_kept = found.hands_cpus_over and (is_then or any(each.uid == found.uid for each in held))
    taken_over = _TAKEN_OVER if is_kept and fit is not None and fit >= found.requested_cpus else ""
    return f"{requests}{had}{largest}.{taken_over}"
