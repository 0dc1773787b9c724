"""Pods that the kubelet evicted or rejected, from all their witnesses: table `evictions`.

There are four witnesses: the Evicted event, the pod's status, its condition DisruptionTarget, and the kubelet's log.
Events get lost, and an evicted pod can end as Succeeded (section G), so any witness is enough, and the others confirm
it. The log has the time of an eviction, but its text only if the kubelet is verbose: any other witness completes it.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

import msgspec

from common.errors import BadRecord
from ingest.model.objects.node import KubeletConfiguration
from ingest.model.objects.pod import Pod
from ingest.model.records import (
    EventRecord,
    KnownNodeRecord,
    KnownPodRecord,
    NodeRecord,
    PodRecord,
    Record,
    SampleRecord,
    SettingsRecord,
)
from streams.analytics.eviction.prediction import PodSpecs, Sample, sample_of, specs_of, with_prediction
from streams.fold.findings import Eviction
from streams.fold.reducer import Output, Reducer
from streams.fold.shelves import Shelves, items, on_shelf, put, without
from streams.rules.eviction.messages import (
    AdmissionRejection,
    LimitEviction,
    PressureEviction,
    UnexplainedEviction,
    parse_evicted,
)
from streams.rules.eviction.messages import Eviction as EvictionMessage
from streams.rules.eviction.shortage import UNKNOWN_CAUSE
from streams.rules.eviction.signals import observe
from streams.rules.eviction.thresholds import capacities_of, effective_thresholds, signal_by_node, threshold_kind
from streams.rules.pod_ends.when import When, ended_by_status, event_when, merge_witnesses
from streams.rules.pods.qos import has_ended
from streams.rules.values.quantity import InvalidQuantity

MAX_STORIES: Final = 500
"""Number of evictions of a node that a later witness can still confirm."""
FOUND_LATE: Final = timedelta(minutes=2)
"""A witness that is seen this long after the eviction was delayed by a gap in watching."""
LOG: Final = "log"
CLOCK_SECOND: Final = timedelta(seconds=1)
"""Events have whole seconds."""


class State(msgspec.Struct, frozen=True):
    config: KubeletConfiguration | None = None
    kubelet_version: str = ""
    capacities: dict[str, int] = {}
    """Capacities by signal that the Node object has."""
    pods: Shelves[PodSpecs] = {}
    """Pods that may be evicted, by uid."""
    implied_pods: Shelves[PodSpecs] = msgspec.field(name="told", default_factory=dict)
    """Specs that a dump implies before it has the pods, by uid; of static pods also by the uid of their manifest."""
    samples: tuple[Sample, ...] = ()
    """The last two samples."""
    stories: Shelves[Eviction] = {}
    """The last row of each eviction, by the pod's uid, or by its name if the uid is unknown."""


class _Witness(NamedTuple):
    kind: str
    when: When | None
    """None if the witness has no time."""
    namespace: str
    pod: str
    uid: str
    text: str


def step(state: State, record: Record) -> tuple[State, Sequence[Output | BadRecord]]:
    match record:
        case SampleRecord():
            sample = sample_of(record, _pods_at(state, record))
            return msgspec.structs.replace(state, samples=(*state.samples[-1:], sample)), ()
        case PodRecord() | KnownPodRecord():
            return _pod(state, record) if isinstance(record, PodRecord) else (_implied(state, record.object), ())
        case EventRecord():
            return _event(state, record)
        case SettingsRecord(config=config) if config != state.config:
            effective_thresholds(config)
            return _named_again(msgspec.structs.replace(state, config=config), record)
        case NodeRecord() | KnownNodeRecord():
            return _node(state, record)
        case _:
            return state, ()


def _pods_at(state: State, record: SampleRecord) -> dict[str, PodSpecs]:
    """Return the pods at a sample; pods that are only implied count if the sample has them."""
    pods = dict(items(state.pods))
    if state.implied_pods:
        measured = {uid: on_shelf(state.implied_pods, uid) for uid in record.pods.uid if uid not in pods}
        pods |= {uid: specs for uid, specs in measured.items() if specs is not None}
    return pods


def _implied(state: State, pod: Pod) -> State:
    try:
        specs = specs_of(pod)
    except InvalidQuantity:
        return state  # the Pod's own record reports the error
    implied, annotations = put(state.implied_pods, pod.metadata.uid, specs), pod.metadata.annotations
    if annotations is not None and annotations.config_mirror:
        implied = put(implied, annotations.config_mirror, specs)
    return msgspec.structs.replace(state, implied_pods=implied)


def _node(state: State, record: NodeRecord | KnownNodeRecord) -> tuple[State, Sequence[Output]]:
    version, capacities = record.object.status.node_info.kubelet_version, capacities_of(record.object)
    if (version, capacities) == (state.kubelet_version, state.capacities):
        return state, ()
    state = msgspec.structs.replace(state, kubelet_version=version, capacities=capacities)
    return _named_again(state, record)


def _named_again(state: State, record: Record) -> tuple[State, Sequence[Output]]:
    """Return evictions whose signal or threshold is now known from new settings or capacities."""
    rows: list[Output] = []
    stories = state.stories
    for key, row in items(state.stories):
        if row.cause != "pressure" or row.threshold_kind:
            continue
        named = _with_kind(state, row if row.signal else row._replace(signal=_signal(state, row)))
        if named != row:
            named = named._replace(updated_at=max(row.updated_at, record.ts))
            stories = put(stories, key, named)
            rows.append(named)
    return (msgspec.structs.replace(state, stories=stories) if rows else state), rows


def _signal(state: State, row: Eviction) -> str:
    return signal_by_node(row.resource, row.threshold, state.config, state.kubelet_version, state.capacities)


def _with_kind(state: State, row: Eviction) -> Eviction:
    if state.config is None or state.config.eviction_hard is None:
        return row  # defaults are assumed
    observed = observe(state.samples[-1].node) if state.samples else {}
    capacities = {**state.capacities, **{signal: each.capacity for signal, each in observed.items()}}
    thresholds = effective_thresholds(state.config, state.kubelet_version).by_signal
    return row._replace(threshold_kind=threshold_kind(row.signal, row.threshold, thresholds, capacities))


def _pod(state: State, record: PodRecord) -> tuple[State, Sequence[Output | BadRecord]]:
    pod = record.object
    rows: Sequence[Output | BadRecord] = ()
    witness = _status_witness(record)
    if witness is not None:
        try:
            state, rows = _hear(state, record, witness)
        except BadRecord as error:
            # even if the text is unknown, the pod has ended and is no longer ranked
            rows = (error,)
    if state.implied_pods:
        state = msgspec.structs.replace(state, implied_pods=without(state.implied_pods, pod.metadata.uid))
    uid, specs = pod.metadata.uid, None if has_ended(record) else specs_of(pod)
    if on_shelf(state.pods, uid) == specs:
        return state, rows
    pods = without(state.pods, uid) if specs is None else put(state.pods, uid, specs)
    return msgspec.structs.replace(state, pods=pods), rows


def _status_witness(record: PodRecord) -> _Witness | None:
    """Return the pod as a witness, by its condition or else its status; None if neither shows an eviction."""
    pod = record.object
    conditions = pod.status.conditions or []
    target = next((c for c in conditions if c.type == "DisruptionTarget" and c.status == "True"), None)
    about = pod.metadata.namespace, pod.metadata.name, pod.metadata.uid
    if target is not None and target.reason == "TerminationByKubelet" and parse_evicted(target.message):
        at = target.last_transition_time
        return _Witness("status", None if at is None else When(at), *about, target.message)
    if pod.status.phase != "Failed" or pod.status.reason != "Evicted":
        return None
    text = pod.status.message.strip() and pod.status.message
    is_rejection = isinstance(parse_evicted(text), AdmissionRejection)
    starts_with_it = record.change == "ADDED" and is_rejection
    when = ended_by_status(pod, record.ts, starts_with_it=starts_with_it, is_rejection=is_rejection)
    return _Witness("status", when, *about, text)


def _event(state: State, record: EventRecord) -> tuple[State, Sequence[Output]]:
    event = record.object
    involved = event.involved
    if record.change == "DELETED" or event.reason != "Evicted" or involved.kind != "Pod":
        return state, ()
    if event.component not in {"", "kubelet"}:
        return state, ()  # Karpenter and others use this reason for an API eviction
    kind, when = "event" if record.line is None else LOG, event_when(event, record.ts)
    witness = _Witness(kind, when, involved.namespace, involved.name, involved.uid, event.text)
    return _hear(state, record, witness)


def _hear(state: State, record: Record, witness: _Witness) -> tuple[State, Sequence[Output]]:
    """Record the eviction of a witness, or confirm it. Raises BadRecord for an unknown text."""
    is_bare = not witness.text.strip()  # from a table, or a log line without other lines of the eviction loop
    owner = witness.uid or f"{witness.namespace}/{witness.pod}"  # exporters of Events drop uids
    story = on_shelf(state.stories, owner)
    if is_bare and story is not None:
        return _bare(state, record, witness, story)
    parsed = UnexplainedEviction() if is_bare else parse_evicted(witness.text)
    if parsed is None:
        raise BadRecord("unknown_text", f"{witness.kind} of an eviction says {witness.text[:200]!r}")
    cause = _cause(parsed)
    if story is None or (story.cause, cause) in {("admission", "pressure"), ("admission", "limit")}:
        row = _new(state, record, witness, parsed, cause)  # a name alone may belong to a replacement
    elif story.cause == UNKNOWN_CAUSE:
        when = merge_witnesses(_when(story), witness.when or _until(record))
        row = _new(state, record, witness._replace(when=when), parsed, cause)
    elif story.cause != cause:
        return state, ()  # the first one counts
    elif witness.when is not None and witness.when.is_known and not story.time_known:
        evidence = (
            witness.kind
            if story.evidence in {witness.kind, LOG}
            else story.evidence
            if witness.kind == LOG
            else "both"
        )
        row = _new(state, record, witness, parsed, cause)._replace(evidence=evidence)
    elif story.evidence == LOG and witness.kind != LOG:
        when = merge_witnesses(_when(story), witness.when or _until(record))
        row = _new(state, record, witness._replace(when=when), parsed, cause)
    elif witness.kind == LOG and story.evidence == LOG and len(witness.text) > len(story.message):
        row = _new(state, record, witness._replace(when=_when(story)), parsed, cause)
    elif story.evidence in {"both", witness.kind} or witness.kind == LOG:
        return state, ()
    else:
        row = story._replace(evidence="both", updated_at=record.ts)
    return msgspec.structs.replace(state, stories=put(state.stories, owner, row, MAX_STORIES)), (row,)


def _bare(state: State, record: Record, witness: _Witness, story: Eviction) -> tuple[State, Sequence[Output]]:
    """Complete a known eviction with the time of a witness without a text."""
    when = merge_witnesses(_when(story), witness.when or _until(record))
    if when == _when(story):
        return state, ()
    row, owner = story._replace(**_dates(when, record)), witness.uid or f"{witness.namespace}/{witness.pod}"
    return msgspec.structs.replace(state, stories=put(state.stories, owner, row, MAX_STORIES)), (row,)


def _when(row: Eviction) -> When:
    return When(row.ts, row.time_known, row.earliest, row.latest)


def _until(record: Record) -> When:
    return When(record.ts, is_known=False, latest=record.ts)


def _dates(when: When, record: Record) -> dict[str, Any]:
    return {
        "ts": when.at,
        "found_late": not when.is_known or record.ts - when.at > FOUND_LATE,
        "time_known": when.is_known,
        "earliest": when.earliest,
        "latest": when.latest,
        "updated_at": record.ts,
    }


def _cause(parsed: EvictionMessage | UnexplainedEviction) -> str:
    match parsed:
        case PressureEviction():
            return "pressure"
        case AdmissionRejection():
            return "admission"
        case LimitEviction():
            return "limit"
        case UnexplainedEviction():
            return UNKNOWN_CAUSE


def _new(
    state: State, record: Record, witness: _Witness, parsed: EvictionMessage | UnexplainedEviction, cause: str
) -> Eviction:
    when = witness.when or _until(record)
    row = Eviction(
        cluster=record.cluster,
        node=record.node,
        namespace=witness.namespace,
        pod=witness.pod,
        uid=witness.uid,
        cause=cause,
        resource="ephemeral-storage",
        signal="",
        threshold=None,
        available=None,
        predicted_rank=None,
        predicted_at=None,
        ranked_pods=None,
        tied_pods=None,
        pod_usage=None,
        pods_usage_ratio=None,
        evidence=witness.kind,
        message=witness.text,
        **_dates(when, record),
    )
    match parsed:
        case LimitEviction(limit=limit):
            return row._replace(threshold=limit)
        case AdmissionRejection(conditions=conditions):
            return row._replace(resource=",".join(conditions))
        case UnexplainedEviction():
            return row._replace(resource="")
        case PressureEviction():
            row = row._replace(resource=parsed.resource, threshold=parsed.threshold, available=parsed.available)
            row = row._replace(signal=_signal(state, row))
            sample = next((s for s in reversed(state.samples) if s.ts < row.ts + CLOCK_SECOND), None)
            if sample is None or not when.is_known:
                return _with_kind(state, row)
            return _with_kind(state, with_prediction(row, parsed, sample, state.config, state.kubelet_version))


REDUCER: Final = Reducer(
    name="evictions",
    version=10,
    log="node",
    takes=(SampleRecord, PodRecord, KnownPodRecord, EventRecord, SettingsRecord, NodeRecord, KnownNodeRecord),
    state=State,
    step=step,
)
