"""Attempts of the kubelet to reclaim a resource before it evicts: table `reclaims`.

The Event EvictionThresholdMet says that it tried (rules: eviction-loop). Its metrics count deleted images, samples
show the freed amount, and its log says that this was enough. Rows follow from all facts together.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from ingest.model.objects.event import event_time
from ingest.model.records import EventRecord, MetricsRecord
from streams.analytics.image_gc.image_gc import images_collected
from streams.fold.findings import Eviction, EvictionSignal, KubeletLogLine, PressureChange, Reclaim
from streams.fold.reducer import LogFindings, Output, Reducer
from streams.fold.shelves import Shelves, on_shelf, put
from streams.rules.eviction.messages import parse_reclaim
from streams.rules.eviction.signals import CONDITIONS, RESOURCES
from streams.rules.pod_ends.when import event_when

MAX_FACTS: Final = 20
"""Number of attempts, shortages, image counts and ends that are kept, because a later witness can complete them."""
MAX_EVICTED: Final = 500
_PRESSURES: Final = {RESOURCES[signal]: condition for signal, condition in CONDITIONS.items()}
ONE_ROUND: Final = timedelta(seconds=60)
"""Time after the Event within which evictions, and samples that show them, follow."""
COUNTED: Final = 2 * ONE_ROUND
"""Time after which the kubelet's metrics, which are read once a minute, count its deletions."""


class Attempt(msgspec.Struct, frozen=True, array_like=True):
    """An Event in its last version."""

    resource: str
    first: datetime
    last: datetime
    times: int
    is_known: bool


class Shortage(msgspec.Struct, frozen=True, array_like=True):
    """Consecutive samples that meet a threshold, and the first one after them that does not."""

    signal: str
    since: datetime
    threshold: int
    low: int
    until: datetime | None = None
    after: int | None = None


class State(msgspec.Struct, frozen=True):
    cluster: str = ""
    node: str = ""
    attempts: dict[str, Attempt] = {}
    """Attempts by the uid of their Event, or its name."""
    shortages: tuple[Shortage, ...] = ()
    evicted: Shelves[tuple[str, datetime]] = {}
    """Resource and time, by the pod's uid. The resource is empty if unknown, and a cause if no resource was low."""
    enough: tuple[tuple[str, datetime], ...] = ()
    """Times at which the kubelet's log reports success, with the resource if known."""
    relieved: tuple[tuple[str, datetime], ...] = ()
    """A pressure condition, and when it ended."""
    images: tuple[tuple[datetime, float], ...] = ()
    """Number of images that the kubelet had deleted since its start, at each change."""


def step(state: State, record: EventRecord | MetricsRecord | LogFindings) -> tuple[State, Sequence[Output]]:
    match record:
        case EventRecord():
            after = _tried(state, record)
        case MetricsRecord():
            after = _counted(state, record)
        case _:
            after = _concluded(state, record.rows)
    if after is state:
        return state, ()
    known = set(_rows(state))
    return after, [row for row in _rows(after) if row not in known]


def _tried(state: State, record: EventRecord) -> State:
    event = record.object
    resource = parse_reclaim(event.reason, event.text)
    if resource is None or record.change == "DELETED":
        return state
    last = event_time(event) or record.ts
    first = event.first_timestamp or last
    attempt = Attempt(resource, min(first, last), last, max(event.count or 1, 1), event_when(event, last).is_known)
    name = event.metadata.uid or event.metadata.name  # a text has no UID
    known = state.attempts.get(name)
    if known is not None and known.times >= attempt.times:
        return state
    attempts = list({**state.attempts, name: attempt}.items())[-MAX_FACTS:]
    return msgspec.structs.replace(state, cluster=record.cluster, node=record.node, attempts=dict(attempts))


def _counted(state: State, record: MetricsRecord) -> State:
    images = images_collected(record.metrics) or 0.0
    if state.images and state.images[-1][1] == images:
        return state
    return msgspec.structs.replace(state, images=(*state.images, (record.ts, images))[-MAX_FACTS:])


def _concluded(state: State, rows: Iterable[object]) -> State:
    for row in rows:
        match row:
            case EvictionSignal():
                state = _sampled(state, row)
            case Eviction(cause="pressure" | "unknown"):
                evicted = put(state.evicted, row.uid, (row.resource, row.ts), MAX_EVICTED)
                state = msgspec.structs.replace(state, evicted=evicted)
            case Eviction() if on_shelf(state.evicted, row.uid) is not None:
                evicted = put(state.evicted, row.uid, (row.cause, row.ts), MAX_EVICTED)
                state = msgspec.structs.replace(state, evicted=evicted)
            case KubeletLogLine(said="reclaimed"):
                enough = (*state.enough, (row.resource, row.ts))[-MAX_FACTS:]
                state = msgspec.structs.replace(state, enough=enough)
            case PressureChange(status=False, kubelet_restart=False):
                relieved = (*state.relieved, (row.condition, row.ts))[-MAX_FACTS:]
                state = msgspec.structs.replace(state, relieved=relieved)
    return state


def _sampled(state: State, row: EvictionSignal) -> State:
    now = next((each for each in state.shortages if each.signal == row.signal and each.until is None), None)
    if not (row.hard_met or row.soft_met):
        if now is None:
            return state
        then = msgspec.structs.replace(now, until=row.ts, after=row.available)
    elif now is None:
        threshold = row.hard_threshold if row.hard_met else row.soft_threshold
        then = Shortage(row.signal, row.ts, threshold or 0, row.available)
    elif row.available < now.low:
        then = msgspec.structs.replace(now, low=row.available)
    else:
        return state
    others = (each for each in state.shortages if each is not now)
    return msgspec.structs.replace(state, shortages=(*others, then)[-MAX_FACTS:])


def _rows(state: State) -> list[Reclaim]:
    return [_row(state, attempt) for attempt in state.attempts.values()]


def _row(state: State, attempt: Attempt) -> Reclaim:
    start, end = attempt.first - ONE_ROUND, attempt.last + ONE_ROUND
    short = [
        each
        for each in state.shortages
        if RESOURCES[each.signal] == attempt.resource
        and each.since <= end
        and (each.until is None or each.until >= start)
    ]
    shortage = max(short, key=lambda each: (each.until is not None, each.threshold - each.low), default=None)
    logged = any(what in {"", attempt.resource} and start <= at <= end for what, at in state.enough)
    relieved = any(what == _PRESSURES[attempt.resource] and at >= attempt.last for what, at in state.relieved)
    is_over = logged or relieved or (shortage is not None and shortage.until is not None)
    ends = [what for shelf in state.evicted.values() for what, at in shelf.values() if start <= at <= end]
    evicted = ends.count(attempt.resource)
    is_without = logged or (is_over and "" not in ends)
    return Reclaim(
        cluster=state.cluster,
        ts=attempt.first,
        node=state.node,
        resource=attempt.resource,
        last_at=attempt.last,
        times=attempt.times,
        outcome="evicted" if evicted else "no_eviction_seen" if is_without else "unknown",
        evicted=evicted,
        signal="" if shortage is None else shortage.signal,
        threshold=None if shortage is None else shortage.threshold,
        available_low=None if shortage is None else shortage.low,
        available_after=None if shortage is None else shortage.after,
        images_removed=_removed(state.images, attempt),
        logged=logged,
        time_known=attempt.is_known,
        version=attempt.times
        + sum(1 + bool(what) for what in ends)
        + is_over
        + len(state.images)
        + len(short)
        + (shortage is not None),
    )


def _removed(images: Sequence[tuple[datetime, float]], attempt: Attempt) -> int | None:
    """Return the images deleted between the counts before and soon after the attempt; None if unknown."""
    before = [count for at, count in images if at <= attempt.first]
    after = [count for at, count in images if attempt.first < at <= attempt.last + COUNTED]
    return None if not before or not after or after[-1] <= before[-1] else round(after[-1] - before[-1])


REDUCER: Final = Reducer(
    name="reclaims",
    version=1,
    log="node",
    takes=(EventRecord, MetricsRecord),
    row_types=(EvictionSignal, Eviction, PressureChange, KubeletLogLine),
    state=State,
    step=step,
)
