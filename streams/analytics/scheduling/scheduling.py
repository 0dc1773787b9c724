"""Pods that find no node, and nodes that the scheduler overlooks: `scheduling_failures`, `scheduler_blind_spots`; and
its own queues and attempts: `scheduling_queues`, `scheduling_attempts`.

The condition PodScheduled is the source, because every attempt rewrites it. The Event, whose note is the first
attempt's, is a second witness; others are a scheduler's cache and its log (rules: blind-spots, event-counts,
scheduler-cache, scheduler-log). Records of the cluster's log come in no fixed order within a minute. A failure is
judged when its minute is over, by everything that was seen until then, and earlier rows are then replaced.
"""

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Final, NamedTuple

from msgspec.structs import replace

from ingest.model.records import (
    EventRecord,
    HeartbeatRecord,
    InventoryRecord,
    NodeRecord,
    PodPlacement,
    PodRecord,
    Record,
    SchedulerCacheRecord,
    SchedulingAttemptRecord,
)
from streams.analytics.scheduling.caches import cache_seen, witnessed
from streams.analytics.scheduling.cluster_nodes import (
    OPEN_LIMIT,
    OpenFailure,
    State,
    Waiting,
    existing_for,
    forget_pod,
    observe,
    passed_on,
    remember,
)
from streams.analytics.scheduling.verdicts import YOUNG, cluster_of, conclude, evaluated, minute_of, pod_key, spot
from streams.fold.findings import SchedulingAttempt, SchedulingFailure
from streams.fold.reducer import Output, Reducer
from streams.fold.shelves import count_on, on_shelf, put
from streams.rules.scheduling.blind_spot import (
    FAILED_SCHEDULING,
    NOT_PLACED,
    PINNED_ALONE_SINCE,
    Finding,
    condition_text,
    is_of_daemon_set,
    judge_visited,
    pinned_node,
    text_time,
)
from streams.rules.scheduling.constraints import other_scheduler
from streams.rules.scheduling.message import Preemption, SchedulingMessage, parse

_SHOWN_CHARACTERS: Final = 200


def _step(state: State, record: Record) -> tuple[State, Sequence[Output]]:  # noqa: PLR0911  one for each record
    if state.began is None or record.ts < state.began:
        state = replace(state, cluster=record.cluster, began=record.ts)
    match record:
        case NodeRecord():
            nodes = observe(state.nodes, record)
            return (state if nodes is state.nodes else replace(state, nodes=nodes)), ()
        case PodPlacement():
            return _placement(state, record), ()
        case PodRecord():
            return witnessed(*_pod(state, record))
        case EventRecord():
            return _event(state, record)
        case SchedulerCacheRecord():
            return cache_seen(state, record)
        case SchedulingAttemptRecord():
            return witnessed(*_attempt(state, record))
        case InventoryRecord() | HeartbeatRecord():
            return state, passed_on(state.nodes, record)
    return state, ()


def _placement(state: State, record: PodPlacement) -> State:
    state = forget_pod(state, pod_key(record.namespace, record.pod, record.uid))
    if record.change == "DELETED" or record.owner_kind in NOT_PLACED:
        return state
    minute = minute_of(min(record.bound_at or record.ts, record.ts))
    before = state.placed.get(record.target)
    if before is not None and before >= minute:
        return state
    return replace(state, placed={**state.placed, record.target: minute})


def _pod(state: State, record: PodRecord) -> tuple[State, Sequence[Output]]:
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
        finding = Finding("inconclusive", f"the scheduler's text is not understood: {text[:_SHOWN_CHARACTERS]}")
        spots = [spot("text", finding, "", record.cluster, record.ts, metadata.namespace, metadata.name)]
        return state, [] if other else spots
    said = _FailureText("condition", text, record.ts, metadata.namespace, metadata.name, metadata.uid)
    row = _row(state, said, message, pinned)
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
        rows += evaluated(state, failure, cluster_of(state.nodes))
    return _open(state, key, failure), rows


def _event(state: State, record: EventRecord) -> tuple[State, Sequence[Output]]:
    event = record.object
    involved = event.involved
    if event.reason != FAILED_SCHEDULING or record.change == "DELETED" or involved.kind != "Pod":
        return state, ()
    failure = _FailureText(
        "event", event.text, text_time(event) or record.ts, involved.namespace, involved.name, involved.uid
    )
    return _failure(state, failure, is_other=bool(other_scheduler(event.component)))


def _attempt(state: State, record: SchedulingAttemptRecord) -> tuple[State, Sequence[Output]]:
    """Process an attempt from a scheduler's log.

    The failure of a pod without a UID gets no row, because the pod may be gone.
    """
    attempt = record.attempt
    namespace, _, pod = attempt.pod.partition("/")
    message = parse(attempt.text)
    listed = message.nodes_total if message is not None else None
    known = existing_for(state.nodes, record.ts, YOUNG)
    rows: list[Output] = [
        SchedulingAttempt(
            record.cluster,
            record.ts,
            namespace,
            pod,
            attempt.uid,
            node,
            bool(node) and node == attempt.node,
            attempt.scores.get(node),
            attempt.plugins.get(node, {}),
            attempt.refused.get(node, ""),
            attempt.evaluated,
            attempt.feasible,
            listed,
            known,
            "" if node else attempt.text,
        )
        for node in sorted({attempt.node, *attempt.scores, *attempt.refused})
    ]
    settled = frozenset(name for name, node in state.nodes.nodes.items() if node.since <= record.ts - YOUNG)
    cluster = cluster_of(state.nodes)
    finding = judge_visited(attempt.visited, listed or attempt.evaluated, settled, cluster)
    if finding is not None:
        rows.append(spot("log", finding, cluster.version, record.cluster, record.ts, namespace, pod))
    if not (attempt.text and attempt.uid):
        return state, rows
    failure = _FailureText("log", attempt.text, record.ts, namespace, pod, attempt.uid)
    state, failures = _failure(state, failure, is_other=False)
    return state, [*rows, *failures]


class _FailureText(NamedTuple):
    """A text about a pod that found no node, from one witness: its condition, an Event or the scheduler's log."""

    witness: str
    text: str
    ts: datetime
    namespace: str
    pod: str
    uid: str


def _failure(state: State, failure: _FailureText, *, is_other: bool) -> tuple[State, Sequence[Output]]:
    message = parse(failure.text)
    if message is None or message.kind == "deleting":
        return state, ()
    key = f"{failure.witness}/{pod_key(failure.namespace, failure.pod, failure.uid)}"
    before = on_shelf(state.waiting, key)
    now = Waiting(_digest(failure.text), failure.ts)
    if before is not None and (before.text == now.text or before.ts > now.ts):
        return state, ()
    state = remember(state, key, now)
    row = _row(state, failure, message)
    if is_other:
        return state, (row,)
    return _open(state, key, OpenFailure(row, message.oldest_minor)), (row,)


def _open(state: State, key: str, failure: OpenFailure) -> State:
    if count_on(state.open) >= OPEN_LIMIT:
        return state
    return replace(state, open=put(state.open, f"{key}/{failure.row.ts.isoformat()}", failure))


def _row(state: State, failure: _FailureText, message: SchedulingMessage, pinned: str = "") -> SchedulingFailure:
    return SchedulingFailure(
        cluster=state.cluster,
        ts=failure.ts,
        namespace=failure.namespace,
        pod=failure.pod,
        uid=failure.uid,
        nodes_total=message.nodes_total,
        nodes_known=existing_for(state.nodes, failure.ts, YOUNG),
        reasons=dict(sorted(message.reasons.items())),
        reason_sum=message.reason_sum,
        prefilter=message.prefilter,
        post_filter=message.post_filter,
        preemption=_preemption(message.preemption),
        truncated=message.truncated,
        pinned_node=pinned,
        text_source=failure.witness,
    )


def _preemption(preemption: Preemption | None) -> str:
    if preemption is None:
        return ""
    counted = ", ".join(f"{count} {reason}" for reason, count in sorted(preemption.reasons.items()))
    return ". ".join(part for part in (counted, preemption.text) if part)


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


REDUCER: Final = Reducer(
    name="scheduling",
    version=3,
    log="cluster",
    takes=(
        NodeRecord,
        PodRecord,
        PodPlacement,
        EventRecord,
        InventoryRecord,
        HeartbeatRecord,
        SchedulerCacheRecord,
        SchedulingAttemptRecord,
    ),
    state=State,
    step=_step,
    expire=lambda state, watermark: witnessed(*conclude(state, watermark)),
)
