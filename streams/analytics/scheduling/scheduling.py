"""Pods that find no node, and nodes that the scheduler overlooks: `scheduling_failures`, `scheduler_blind_spots`.

The condition PodScheduled is the source, because every attempt rewrites it. The Event, whose note is the first
attempt's, is a second witness, and a dump of a scheduler's cache a third (rules: blind-spots, event-counts,
scheduler-cache). Records of the cluster's log come in no fixed order within a minute. A failure is judged when its
minute is over, by everything that was seen until then, and earlier rows are then replaced.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final

from msgspec.structs import replace

from ingest.model.records import (
    EventRecord,
    HeardRecord,
    InventoryRecord,
    NodeRecord,
    PodPlacement,
    PodRecord,
    Record,
    SchedulerCacheRecord,
)
from streams.analytics.scheduling.cluster_nodes import (
    OPEN_LIMIT,
    OpenFailure,
    State,
    Waiting,
    existing_for,
    existing_within,
    forget_pod,
    observe,
    passed_on,
    remember,
)
from streams.analytics.scheduling.verdicts import RETRIED, YOUNG, cluster_of, conclude, evaluated, minute_of, pod_key
from streams.fold.findings import SchedulerBlindSpot, SchedulingFailure
from streams.fold.reducer import Output, Reducer
from streams.fold.shelves import count_on, on_shelf, put
from streams.rules.scheduling.blind_spot import (
    FAILED_SCHEDULING,
    NOT_PLACED,
    PINNED_ALONE_SINCE,
    Counted,
    Finding,
    condition_text,
    is_of_daemon_set,
    judge_cache,
    pinned_node,
    text_time,
)
from streams.rules.scheduling.constraints import other_scheduler
from streams.rules.scheduling.message import Preemption, SchedulingMessage, parse

_MOST: Final = 100
"""Rows about nodes of one dump; the first row counts them all."""
HELD: Final = timedelta(seconds=90)
"""Most that a number can be older than its record."""


def judged_cache(state: State, record: SchedulerCacheRecord, scheduler_version: str) -> Iterator[SchedulerBlindSpot]:
    nodes, at = state.nodes, record.ts
    counted = _counted(state, at) if record.names is None else _named(state, at)
    settled = frozenset(name for name, node in nodes.nodes.items() if node.since <= at - YOUNG)
    known = frozenset(nodes.nodes) | {gone.name for gone in nodes.gone if gone.until >= at - YOUNG}
    version = cluster_of(nodes, scheduler_version).version
    findings = judge_cache(record.nodes, record.names, record.missed, counted, settled, known)
    for finding in findings[:_MOST]:
        yield _cache_row(record, finding, version)


def _named(state: State, at: datetime) -> Counted:
    """Count nodes for a dump, which leaves out deleted ones."""
    complete = state.began is not None and state.began <= at - YOUNG
    return Counted(existing_for(state.nodes, at, YOUNG), existing_within(state.nodes, at, YOUNG), complete)


def _counted(state: State, at: datetime) -> Counted:
    """Count nodes for a number, with a deleted one while it has pods. Creation times are by another clock."""
    left = RETRIED + HELD
    complete = state.began is not None and state.began <= at - left
    highest = existing_within(state.nodes, at + YOUNG, left + YOUNG)
    return Counted(existing_for(state.nodes, at, YOUNG + HELD), highest, complete, "11 minutes")


def _cache_row(record: SchedulerCacheRecord, finding: Finding, version: str) -> SchedulerBlindSpot:
    evidence = f"{record.scheduler}: {finding.evidence}" if record.scheduler else finding.evidence
    return SchedulerBlindSpot(
        record.cluster, record.ts, finding.verdict, "cache", finding.node, "", "", evidence, version
    )


_SHOWN_CHARACTERS: Final = 200


def reducer(scheduler_version: str = "") -> Reducer[State]:
    """The analytic, for a scheduler whose version is set; where it is not, the newest kubelet's stands in for it."""

    def step(state: State, record: Record) -> tuple[State, Sequence[Output]]:  # noqa: PLR0911  one for each record
        if state.began is None or record.ts < state.began:
            state = replace(state, cluster=record.cluster, began=record.ts)
        match record:
            case NodeRecord():
                nodes = observe(state.nodes, record)
                return (state if nodes is state.nodes else replace(state, nodes=nodes)), ()
            case PodPlacement():
                return _placement(state, record), ()
            case PodRecord():
                return _pod(state, record, scheduler_version)
            case EventRecord():
                return _event(state, record)
            case SchedulerCacheRecord():
                return state, tuple(judged_cache(state, record, scheduler_version))
            case InventoryRecord() | HeardRecord():
                return state, passed_on(state.nodes, record)
        return state, ()

    def expire(state: State, watermark: datetime) -> tuple[State | None, Sequence[Output]]:
        return conclude(state, watermark, scheduler_version)

    return Reducer(
        name="scheduling",
        version=2,
        log="cluster",
        takes=(NodeRecord, PodRecord, PodPlacement, EventRecord, InventoryRecord, HeardRecord, SchedulerCacheRecord),
        state=State,
        step=step,
        expire=expire,
    )


REDUCER: Final = reducer()


def _placement(state: State, record: PodPlacement) -> State:
    state = forget_pod(state, pod_key(record.namespace, record.pod, record.uid))
    if record.change == "DELETED" or record.owner_kind in NOT_PLACED:
        return state
    minute = minute_of(min(record.bound_at or record.ts, record.ts))
    before = state.placed.get(record.target)
    if before is not None and before >= minute:
        return state
    return replace(state, placed={**state.placed, record.target: minute})


def _pod(state: State, record: PodRecord, scheduler_version: str) -> tuple[State, Sequence[Output]]:
    metadata = record.object.metadata
    pod = pod_key(metadata.namespace, metadata.name, metadata.uid)
    if record.change == "DELETED":
        return forget_pod(state, pod), ()
    text = condition_text(record.object)
    if not text:
        return state, ()
    pinned, daemon = pinned_node(record.object), is_of_daemon_set(record.object)
    key = f"condition/{pod}"
    before = on_shelf(state.waiting, key)
    now = Waiting(_digest(text), record.ts, pinned if daemon else "")
    if before is not None and before.text == now.text:
        return state, ()
    state = remember(state, key, now)
    message = parse(text)
    other = other_scheduler(record.object.spec.scheduler_name)
    if message is None:
        return state, () if other else (_not_understood(record, text, scheduler_version),)
    row = _row(record.cluster, record.ts, message)._replace(
        namespace=metadata.namespace, pod=metadata.name, uid=metadata.uid, pinned_node=pinned
    )
    row = row._replace(nodes_known=existing_for(state.nodes, row.ts, YOUNG))
    if other:
        return state, (row,)
    created = metadata.creation_timestamp
    failure = OpenFailure(
        row=row,
        oldest_minor=message.oldest_minor,
        listed=before is None and created is not None and record.ts - created > YOUNG,
        daemon=daemon,
        tolerations=(record.object.spec.tolerations or []) if daemon else [],
    )
    rows: list[Output] = [failure.row]
    if row.reason_sum < row.nodes_total and failure.oldest_minor < PINNED_ALONE_SINCE[1]:
        rows += evaluated(state, failure, cluster_of(state.nodes, scheduler_version))
    return _open(state, key, failure), rows


def _event(state: State, record: EventRecord) -> tuple[State, Sequence[Output]]:
    event = record.object
    involved = event.involved
    if event.reason != FAILED_SCHEDULING or record.change == "DELETED" or involved.kind != "Pod":
        return state, ()
    text = event.text
    message = parse(text)
    if message is None or message.kind == "deleting":
        return state, ()
    key = f"event/{pod_key(involved.namespace, involved.name, involved.uid)}"
    before = on_shelf(state.waiting, key)
    now = Waiting(_digest(text), text_time(event) or record.ts)
    if before is not None and (before.text == now.text or before.ts > now.ts):
        return state, ()
    state = remember(state, key, now)
    row = _row(record.cluster, now.ts, message)._replace(
        namespace=involved.namespace, pod=involved.name, uid=involved.uid, text_source="event"
    )
    row = row._replace(nodes_known=existing_for(state.nodes, row.ts, YOUNG))
    if other_scheduler(event.component):
        return state, (row,)
    return _open(state, key, OpenFailure(row, message.oldest_minor)), (row,)


def _open(state: State, key: str, failure: OpenFailure) -> State:
    if count_on(state.open) >= OPEN_LIMIT:
        return state
    return replace(state, open=put(state.open, f"{key}/{failure.row.ts.isoformat()}", failure))


def _row(cluster: str, ts: datetime, message: SchedulingMessage) -> SchedulingFailure:
    return SchedulingFailure(
        cluster=cluster,
        ts=ts,
        namespace="",
        pod="",
        uid="",
        nodes_total=message.nodes_total,
        nodes_known=0,
        reasons=dict(sorted(message.reasons.items())),
        reason_sum=message.reason_sum,
        prefilter=message.prefilter,
        post_filter=message.post_filter,
        preemption=_preemption(message.preemption),
        truncated=message.truncated,
        pinned_node="",
        text_source="condition",
    )


def _preemption(preemption: Preemption | None) -> str:
    if preemption is None:
        return ""
    counted = ", ".join(f"{count} {reason}" for reason, count in sorted(preemption.reasons.items()))
    return ". ".join(part for part in (counted, preemption.text) if part)


def _not_understood(record: PodRecord, text: str, scheduler_version: str) -> SchedulerBlindSpot:
    metadata = record.object.metadata
    return SchedulerBlindSpot(
        cluster=record.cluster,
        ts=record.ts,
        verdict="inconclusive",
        test="text",
        node="",
        namespace=metadata.namespace,
        pod=metadata.name,
        evidence=f"the scheduler's text is not understood: {text[:_SHOWN_CHARACTERS]}",
        scheduler_version=scheduler_version,
    )


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()
