"""Pods that the kubelet evicted or rejected, from every witness of it: table `evictions`.

Three witnesses: the Evicted event, the pod's status, and its condition DisruptionTarget. Events get lost and an
evicted pod can end as Succeeded (section G), so any one of them is enough; the others confirm.
"""

from array import array
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from ingest.objects import KubeletConfiguration, Pod
from ingest.observation import BadRecord
from ingest.records import (
    EventRecord,
    NodeRecord,
    NodeSample,
    PodColumns,
    PodRecord,
    Record,
    SettingsRecord,
    SummaryRecord,
)
from streams.columns import Numbers
from streams.findings import Eviction
from streams.reducer import Output, Reducer
from streams.rules.event_counting import event_time, message
from streams.rules.eviction_order import RankedPod, rank, standing, tied
from streams.rules.messages_eviction import (
    AdmissionRejection,
    LimitEviction,
    PressureEviction,
    parse_evicted,
)
from streams.rules.messages_eviction import Eviction as Told
from streams.rules.requests import eviction_requests, is_critical
from streams.rules.signals import RESOURCES, Layout, layout_of, observe
from streams.rules.thresholds import effective_thresholds, threshold_value

FINISHED: Final = frozenset({"Succeeded", "Failed"})
MAX_STORIES: Final = 500
"""Evictions of a node that a later witness can still confirm."""
CLOCK_SECOND: Final = timedelta(seconds=1)
"""Events tell the second in which they occurred, not when in it."""
_USAGES: Final = (
    "memory_working_set_bytes",
    "rootfs_used_bytes",
    "rootfs_inodes_used",
    "logs_used_bytes",
    "logs_inodes_used",
    "volumes_used_bytes",
    "volumes_inodes_used",
    "processes",
)
"""What the ranking needs of a pod of a summary; the columns and the fields of RankedPod are named the same."""
_NOBODY: Final = RankedPod("", "", "", 0, 0, 0, has_stats=False)


class PodSpecs(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What the ranking needs of a pod's spec."""

    namespace: str
    name: str
    priority: int
    memory_request_bytes: int
    ephemeral_request_bytes: int
    critical: bool


class Sample(msgspec.Struct, frozen=True):
    """A node's summary and the pods that were known then: what an order of eviction is predicted from."""

    ts: datetime
    node: NodeSample
    pods: dict[str, PodSpecs]
    """By uid."""
    all_known: bool
    """Whether `pods` has every pod of the summary; a static pod has another uid there than in the API."""
    uids: list[str]
    """Of the pods of the summary."""
    usages: bytes
    """The columns _USAGES of these pods, one after the other, as Int64."""


class State(msgspec.Struct, frozen=True):
    config: KubeletConfiguration | None = None
    kubelet_version: str = ""
    pods: dict[str, PodSpecs] = {}
    samples: tuple[Sample, ...] = ()
    """The last two."""
    stories: dict[str, Eviction] = {}
    """The last row of each eviction, by the pod's uid and the cause."""


class _Witness(NamedTuple):
    """One witness' account of an eviction."""

    kind: str
    at: datetime
    namespace: str
    pod: str
    uid: str
    text: str


def step(state: State, record: Record) -> tuple[State, Sequence[Output | BadRecord]]:
    match record:
        case SummaryRecord():
            return msgspec.structs.replace(state, samples=(*state.samples[-1:], _sample(state, record))), ()
        case PodRecord():
            return _pod(state, record)
        case EventRecord():
            return _event(state, record)
        case SettingsRecord(config=config) if config != state.config:
            effective_thresholds(config)
            return msgspec.structs.replace(state, config=config), ()
        case NodeRecord(object=node) if node.status.node_info.kubelet_version != state.kubelet_version:
            return msgspec.structs.replace(state, kubelet_version=node.status.node_info.kubelet_version), ()
        case _:
            return state, ()


def _sample(state: State, record: SummaryRecord) -> Sample:
    columns = record.pods
    all_known = state.pods.keys() >= set(columns.uid) or _names_known(state, columns)
    usages = Numbers("q")
    for name in _USAGES:
        usages.extend(getattr(columns, name))
    return Sample(record.ts, record.sample, state.pods, all_known, columns.uid, usages.values.tobytes())


def _names_known(state: State, columns: PodColumns) -> bool:
    names = {(specs.namespace, specs.name) for specs in state.pods.values()}
    return names.issuperset(zip(columns.namespace, columns.pod, strict=True))


def _pod(state: State, record: PodRecord) -> tuple[State, Sequence[Output | BadRecord]]:
    pod = record.object
    rows: Sequence[Output | BadRecord] = ()
    witness = _status_witness(pod, record.ts)
    if witness is not None:
        try:
            state, rows = _hear(state, record, witness)
        except BadRecord as error:
            # Whatever its text says the pod has ended, and is ranked no more.
            rows = (error,)
    pods = {uid: specs for uid, specs in state.pods.items() if uid != pod.metadata.uid}
    if record.change != "DELETED" and pod.status.phase not in FINISHED:
        pods[pod.metadata.uid] = _specs(pod)
    if pods == state.pods:
        return state, rows
    return msgspec.structs.replace(state, pods=pods), rows


def _specs(pod: Pod) -> PodSpecs:
    requests = eviction_requests(pod)
    return PodSpecs(
        pod.metadata.namespace,
        pod.metadata.name,
        pod.spec.priority or 0,
        requests.get("memory", 0),
        requests.get("ephemeral-storage", 0),
        is_critical(pod),
    )


def _status_witness(pod: Pod, seen_at: datetime) -> _Witness | None:
    """What the pod itself tells: its condition, else its status; None where it tells of no eviction."""
    conditions = pod.status.conditions or []
    target = next((c for c in conditions if c.type == "DisruptionTarget" and c.status == "True"), None)
    metadata = pod.metadata
    if target is not None and target.reason == "TerminationByKubelet" and parse_evicted(target.message):
        at = target.last_transition_time or seen_at
        return _Witness("status", at, metadata.namespace, metadata.name, metadata.uid, target.message)
    if pod.status.phase != "Failed" or pod.status.reason != "Evicted":
        return None
    changes = [c.last_transition_time for c in conditions if c.last_transition_time]
    at = max(changes, default=None) or pod.status.start_time or seen_at
    return _Witness("status", at, metadata.namespace, metadata.name, metadata.uid, pod.status.message)


def _event(state: State, record: EventRecord) -> tuple[State, Sequence[Output]]:
    event = record.object
    about = event.involved_object or event.regarding
    if record.change == "DELETED" or event.reason != "Evicted" or about is None or about.kind != "Pod":
        return state, ()
    at = event_time(event) or record.ts
    return _hear(state, record, _Witness("event", at, about.namespace, about.name, about.uid, message(event)))


def _hear(state: State, record: Record, witness: _Witness) -> tuple[State, Sequence[Output]]:
    """Write or confirm the story that a witness tells; raises BadRecord for a text that is not known."""
    told = parse_evicted(witness.text)
    if told is None:
        raise BadRecord("unknown_text", f"{witness.kind} of an eviction says {witness.text[:200]!r}")
    cause = _cause(told)
    key = f"{witness.uid}/{cause}"
    story = state.stories.get(key)
    if story is None:
        row = _new(state, record, witness, told, cause)
    elif story.evidence in {"both", witness.kind}:
        return state, ()
    else:
        row = story._replace(evidence="both", updated_at=record.ts)
    stories = {k: v for k, v in state.stories.items() if k != key}
    if len(stories) >= MAX_STORIES:
        del stories[next(iter(stories))]
    stories[key] = row
    return msgspec.structs.replace(state, stories=stories), (row,)


def _cause(told: Told) -> str:
    match told:
        case PressureEviction():
            return "pressure"
        case AdmissionRejection():
            return "admission"
        case LimitEviction():
            return "limit"


def _new(state: State, record: Record, witness: _Witness, told: Told, cause: str) -> Eviction:
    row = Eviction(
        cluster=record.cluster,
        ts=witness.at,
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
        updated_at=record.ts,
    )
    match told:
        case LimitEviction(limit=limit):
            return row._replace(threshold=limit)
        case AdmissionRejection(conditions=conditions):
            return row._replace(resource=",".join(conditions))
        case PressureEviction():
            return _predicted(state, row, told)


def _predicted(state: State, row: Eviction, told: PressureEviction) -> Eviction:
    """With the rank in the order of the last sample before it, where every pod of that sample is known."""
    row = row._replace(resource=told.resource, threshold=told.threshold, available=told.available)
    sample = next((s for s in reversed(state.samples) if s.ts < row.ts + CLOCK_SECOND), None)
    if sample is None:
        return row
    layout = layout_of(sample.node)
    signal = _signal(state, sample, layout, told)
    if signal is None:
        return row
    pods = _ranked(sample)
    usages = [standing(signal, layout, pod).usage for pod in pods]
    mine = next((u for u, pod in zip(usages, pods, strict=True) if pod.uid == row.uid), None)
    row = row._replace(signal=signal, pod_usage=mine, pods_usage_ratio=_share(sample, signal, layout))
    if not sample.all_known:
        return row
    order = rank(signal, layout, pods, state.kubelet_version)
    place = next((i for i, index in enumerate(order, 1) if pods[index].uid == row.uid), None)
    if place is None:
        return row
    return row._replace(
        predicted_rank=place,
        predicted_at=sample.ts,
        ranked_pods=len(order),
        tied_pods=tied(signal, layout, pods, row.uid, state.kubelet_version),
    )


def _share(sample: Sample, signal: str, layout: Layout) -> float | None:
    """How much of what is used of a signal's resource all pods of a sample use: little means no pod explains it."""
    observed = observe(sample.node).get(signal)
    if observed is None or observed.capacity <= observed.available:
        return None
    measured = [_with_stats(_NOBODY, usage) for usage in _usages(sample)]
    used = sum(standing(signal, layout, pod).usage or 0 for pod in measured)
    return used / (observed.capacity - observed.available)


def _signal(state: State, sample: Sample, layout: Layout, told: PressureEviction) -> str | None:
    """The signal whose threshold the message names, else the first of that resource that the sample has."""
    observed = observe(sample.node)
    candidates = [signal for signal in observed if RESOURCES[signal] == told.resource]
    thresholds = effective_thresholds(state.config, state.kubelet_version, layout).by_signal
    for signal in candidates:
        texts = thresholds.get(signal)
        for text in (texts.hard, texts.soft) if texts else ():
            if text is not None and threshold_value(text, observed[signal].capacity) == told.threshold:
                return signal
    return candidates[0] if candidates else None


def _ranked(sample: Sample) -> list[RankedPod]:
    usages = dict(zip(sample.uids, _usages(sample), strict=True))
    ranked = []
    for uid, specs in sample.pods.items():
        pod = RankedPod(
            specs.namespace,
            specs.name,
            uid,
            specs.priority,
            specs.memory_request_bytes,
            specs.ephemeral_request_bytes,
            has_stats=False,
            critical=specs.critical,
        )
        ranked.append(_with_stats(pod, usages[uid]) if uid in usages else pod)
    return ranked


def _usages(sample: Sample) -> list[tuple[int, ...]]:
    """Of each pod of a sample, in the order of _USAGES."""
    values = array("q", sample.usages)
    count = len(sample.uids)
    return [tuple(values[place::count]) for place in range(count)]


def _with_stats(pod: RankedPod, usage: tuple[int, ...]) -> RankedPod:
    fields: dict[str, Any] = dict(zip(_USAGES, usage, strict=True))
    return pod._replace(has_stats=True, **fields)


REDUCER: Final = Reducer(
    name="evictions",
    version=3,
    log="node",
    takes=(SummaryRecord, PodRecord, EventRecord, SettingsRecord, NodeRecord),
    state=State,
    step=step,
)
