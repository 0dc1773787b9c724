"""Explains why image garbage collection failed, whether that matters, and whether it works again: table `image_gc`.

The verdict is based on number and spacing of the failures, on the kubelet's starts and on later samples;
`ImageGCFailed` may never appear (section G). The row of an episode grows while it lasts; its end is a separate row.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from common.amounts import counted
from ingest.messages.reasons import is_kubelet_start
from ingest.model.machine import Metric
from ingest.model.objects.event import Event, event_time
from ingest.model.objects.node import KubeletConfiguration
from ingest.model.records import EventRecord, MetricsRecord, NodeRecord, Record, SampleRecord, SettingsRecord
from streams.analytics.image_gc.episode import (
    LOOP,
    NEXT_RUN,
    SAME_RUN,
    UNDECIDED,
    Episode,
    Failure,
    Settings,
    extend,
    is_over,
    is_run_after_run,
    new_episode,
    nothing_to_free,
    row_of,
    verdict,
    works_again,
)
from streams.fold.findings import BROKEN_GC, ImageGc
from streams.fold.reducer import Output, Reducer
from streams.rules.events.counting import Counted, Occurrences, event_count, occurrences
from streams.rules.image_gc.messages import ImageGcFailure, Result, is_consecutive, parse_image_gc
from streams.rules.image_gc.thresholds import (
    DEFAULT_HIGH_PERCENT,
    DEFAULT_LOW_PERCENT,
    REGISTERS,
    ImageGcDecision,
    decide,
)
from streams.rules.pod_ends.when import event_when

RUNS: Final = 3
THREE_RUNS: Final = timedelta(minutes=16)
"""In this time the kubelet has run image GC at least three times, five minutes apart."""
SAME_START: Final = timedelta(seconds=5)
"""A kubelet's Event and its log report one start within this time."""
GAP: Final = timedelta(minutes=5)
"""If no sample came for this long, usage may have been below the threshold meanwhile."""
_COLLECTED: Final = "kubelet_image_garbage_collected_total"


class Above(msgspec.Struct, frozen=True, array_like=True):
    """Usage is at or above the high threshold, sample after sample."""

    since: datetime
    last_at: datetime
    collected: float | None
    """Number of images that the kubelet had deleted since its start; None without metrics."""


def follow(
    above: Above | None, decision: ImageGcDecision | None, now: datetime, collected: float | None, *, none_yet: bool
) -> Above | None:
    """Track the usage above the threshold; None below it. `none_yet`: the metrics did not count images."""
    if decision is None or decision.verdict != "free":
        return None
    if above is None or now - above.last_at > GAP:
        return Above(now, now, 0.0 if none_yet else collected)
    return Above(above.since, now, above.collected)


def failure_of(above: Above, collected: float | None) -> Failure | None:
    """Conclude a failure from usage alone; None before three runs were due."""
    if above.last_at - above.since < THREE_RUNS:
        return None
    deleted = deleted_since(above, collected)
    result: Result = "error" if deleted is None else "partial" if deleted else "noop"
    reported = ImageGcFailure(result, "insufficient_freed")
    return Failure(reported, above.last_at, above.since, None, RUNS, lower_bound=True, consecutive=False)


def in_words(above: Above, collected: float | None) -> str:
    deleted = deleted_since(above, collected)
    number = ""
    if deleted is not None:
        number = f" The kubelet's metrics count {counted(round(deleted), 'image')} deleted since then."
    return (
        f" No Event reports it (the kubelet drops Events when there are many), but usage has not been below since "
        f"{above.since:%H:%M:%S}, in which time it tried at least {RUNS} times.{number}"
    )


def deleted_since(above: Above, collected: float | None) -> float | None:
    """Return the number of images deleted since then; None if metrics are missing, or restarted with the kubelet."""
    if collected is None or above.collected is None or collected < above.collected:
        return None
    return collected - above.collected


def images_collected(metrics: Iterable[Metric]) -> float | None:
    """Return the number of images deleted by age and for space; None if none since the kubelet's start, or not
    counted.
    """
    found = [metric.value for metric in metrics if metric.name == _COLLECTED]
    return sum(found) if found else None


MAX_NAMES: Final = 32
OVER_HIGH: Final = frozenset({"insufficient_freed", "delete_error"})
"""Reasons of failures in runs that had something to free, because usage was over the high threshold."""


class State(msgspec.Struct, frozen=True):
    cluster: str = ""
    node: str = ""
    config: KubeletConfiguration | None = None
    intended_by: str = ""
    """The ConfigMap that `config` is from, if the kubelet did not answer."""
    starts: tuple[datetime, ...] = ()
    """Starts of the kubelet in the quarter of an hour before the last, including it."""
    capacity: tuple[int, int] | None = None
    """Available and capacity in bytes of the image file system in the last sample."""
    counted: dict[str, Counted] = {}
    """Events of image GC by namespace/name."""
    episodes: dict[str, Episode] = {}
    """Episodes that may go on, by reason."""
    failed_at: datetime | None = None
    """Time of the last failure, for any reason."""
    above: Above | None = None
    """The time above the high threshold, by samples and known settings; None while usage is below it."""
    collected: float | None = None
    """Images that the kubelet deleted since its start, by its metrics."""
    none_yet: bool = False
    """True if metrics had no count of images: a kubelet adds it with the first image that it deletes."""


def step(state: State, record: Record) -> tuple[State, Sequence[Output]]:
    if state.node != record.node:
        state = msgspec.structs.replace(state, cluster=record.cluster, node=record.node)
    match record:
        case EventRecord(change="ADDED" | "MODIFIED"):
            return _event(state, record)
        case SettingsRecord() if (record.config, record.intended_by) != (state.config, state.intended_by):
            state = msgspec.structs.replace(state, intended_by=record.intended_by)
            return _settings(state, record.config, record.ts)
        case SampleRecord(sample=sample):
            capacity = (sample.imagefs_available_bytes or 0, sample.imagefs_capacity_bytes or 0)
            if capacity != state.capacity:
                state = msgspec.structs.replace(state, capacity=capacity)
            return _sample(state, record.ts)
        case MetricsRecord(metrics=metrics):
            collected = images_collected(metrics)
            if (collected, collected is None) != (state.collected, state.none_yet):
                state = msgspec.structs.replace(state, collected=collected, none_yet=collected is None)
            return state, ()
        case NodeRecord(object=node) if node.metadata.creation_timestamp is not None:
            return _of_this_node(state, node.metadata.creation_timestamp, record.ts)
        case _:
            return state, ()


def _of_this_node(state: State, made_at: datetime, now: datetime) -> tuple[State, Sequence[Output]]:
    """Forget everything older than the Node object, because it is about an earlier node of that name."""
    first = made_at - REGISTERS
    earlier = {reason: each for reason, each in state.episodes.items() if each.last_at < first}
    above = state.above if state.above and state.above.since >= first else None
    if not earlier and above == state.above:
        return state, ()
    state, rows = _passed(state, earlier, now)
    episodes = {reason: each for reason, each in state.episodes.items() if reason not in earlier}
    return msgspec.structs.replace(state, episodes=episodes, above=above), rows


def expire(state: State, watermark: datetime) -> tuple[State, Sequence[Output]]:
    """Drop an undecided failure that was not repeated."""
    old = {reason: each for reason, each in state.episodes.items() if watermark - each.last_at >= UNDECIDED}
    return _passed(state, old, watermark)


def _passed(state: State, episodes: Mapping[str, Episode], now: datetime) -> tuple[State, Sequence[Output]]:
    rows: list[Output] = []
    for reason, episode in episodes.items():
        if not episode.verdict:
            passed = "recovered" if episode.start_seen else "benign_startup"
            state, row = _write(state, reason, episode, passed, now)
            rows.append(row)
    return state, rows


def _event(state: State, record: EventRecord) -> tuple[State, Sequence[Output]]:
    event = record.object
    text = event.text
    at = event_time(event) or record.ts
    if event.reason == "FailedCreatePodSandBox" and "sandbox image" in text:
        return _sandbox_image_lost(state, at, record.ts)
    involved = event.involved
    if involved.kind != "Node":
        return state, ()
    if is_kubelet_start(event.reason, text):
        return _started(state, at, is_line=record.line is not None), ()
    reported = parse_image_gc(event.reason, text)
    if reported is None:
        return state, ()
    state, found, since = (
        _line(state, at) if record.line else _count(state, event, at, added=record.change == "ADDED")
    )
    if not found.delta:
        return state, ()
    start = max((s for s in state.starts if s <= at), default=None)
    consecutive = is_consecutive(event.reason, text)
    known = event_when(event, record.ts).is_known
    failure = Failure(reported, at, since, start, found.delta, found.lower_bound, consecutive, known)
    return _failed(state, failure, record.ts)


def _started(state: State, at: datetime, *, is_line: bool) -> State:
    if is_line and any(abs(at - each) <= SAME_START for each in state.starts):
        return state
    starts = sorted({*state.starts, at})
    return msgspec.structs.replace(state, starts=tuple(s for s in starts if starts[-1] - s <= LOOP))


def _line(state: State, at: datetime) -> tuple[State, Occurrences, datetime]:
    """Return the failure in a log line; None for a run that an Event reported."""
    is_reported = state.failed_at is not None and abs(at - state.failed_at) <= SAME_RUN
    return state, Occurrences(0 if is_reported else 1, lower_bound=False), at


def _count(state: State, event: Event, at: datetime, *, added: bool) -> tuple[State, Occurrences, datetime]:
    name = f"{event.metadata.namespace}/{event.metadata.name}"
    now = Counted(event.metadata.uid, event_count(event), at.timestamp())
    before = state.counted.get(name)
    found, since = occurrences(event, added=added, before=before, now=now), at
    begun = event.first_timestamp or event.deprecated_first_timestamp
    if before is None and begun is not None and is_run_after_run(begun, at, now.total):
        found, since = Occurrences(now.total, lower_bound=True), begun
    counted = {**state.counted, name: now}
    if len(counted) > MAX_NAMES:
        del counted[next(iter(counted))]
    return msgspec.structs.replace(state, counted=counted), found, since


def _failed(state: State, failure: Failure, now: datetime, unreported: str = "") -> tuple[State, Sequence[Output]]:
    settings, decision = _percents(state), _decision(state)
    before = state.episodes.get(failure.reported.reason)
    if before is None or is_over(before, failure):
        episode = msgspec.structs.replace(new_episode(failure, settings, decision), unreported=unreported)
    else:
        episode = extend(before, failure, settings, decision)
    state = msgspec.structs.replace(state, failed_at=max(failure.at, state.failed_at or failure.at))
    return _judge(state, failure.reported.reason, episode, now)


def _settings(state: State, config: KubeletConfiguration, now: datetime) -> tuple[State, Sequence[Output]]:
    """Apply settings, which hold from the kubelet's last start on; the first ones hold from the beginning."""
    rows: list[Output] = []
    held = state.starts[-1] if state.starts else None if state.config is None else now
    state = msgspec.structs.replace(state, config=config)
    for reason, episode in state.episodes.items():
        if held is not None and episode.last_at < held:
            continue
        changed = msgspec.structs.replace(episode, settings=_percents(state), decision=_decision(state))
        if changed != episode:
            state, written = _judge(state, reason, changed, now)
            rows += written
    return state, rows


def _sample(state: State, now: datetime) -> tuple[State, Sequence[Output]]:
    rows: list[Output] = []
    for reason, episode in state.episodes.items():
        if now > episode.last_at:
            state, written = _evidence(state, reason, episode, now)
            rows += written
    state, unreported = _conclude_unreported(state, now)
    return state, [*rows, *unreported]


def _conclude_unreported(state: State, now: datetime) -> tuple[State, Sequence[Output]]:
    """Conclude from a sample that image GC must have failed, although nothing reports it. This needs the settings."""
    assumed = _percents(state).assumed
    above = None if assumed else follow(state.above, _decision(state), now, state.collected, none_yet=state.none_yet)
    if above != state.above:
        state = msgspec.structs.replace(state, above=above)
    if above is None or any(each.verdict in BROKEN_GC for each in state.episodes.values()):
        return state, ()
    failure = failure_of(above, state.collected)
    return (state, ()) if failure is None else _failed(state, failure, now, in_words(above, state.collected))


def _evidence(state: State, reason: str, episode: Episode, now: datetime) -> tuple[State, Sequence[Output]]:
    """Return an episode after a sample that follows its last failure."""
    decision = _decision(state)
    is_healthy = decision is not None and decision.verdict in {"below_high", "disabled"}
    held = _percents(state)
    replaced = reason in OVER_HIGH and not held.assumed and held != episode.settings
    was_next_run = state.failed_at is not None and now - state.failed_at >= NEXT_RUN
    if episode.verdict in BROKEN_GC and decision and is_healthy and (was_next_run or replaced):
        row = row_of(state.cluster, state.node, episode, "recovered", now)._replace(
            ts=now,
            result="success",
            usage_percent=decision.usage_percent,
            wanted_bytes=None,
            freed_bytes=None,
            explanation=works_again(episode, held, decision),
        )
        if replaced:
            row = row._replace(
                high_percent=held.high_percent,
                low_percent=held.low_percent,
                explanation=nothing_to_free(episode, held, decision),
            )
        episodes = {k: v for k, v in state.episodes.items() if k != reason}
        return msgspec.structs.replace(state, episodes=episodes), (row,)
    if reason != "invalid_capacity" or state.capacity is None:
        return state, ()
    if state.capacity[1] and episode.capacity_seen_at is None:
        return _judge(state, reason, msgspec.structs.replace(episode, capacity_seen_at=now), now)
    unread = not state.capacity[1] and episode.capacity_seen_at is None
    if unread and not episode.goes_on and now - episode.last_at >= NEXT_RUN:
        return _judge(state, reason, msgspec.structs.replace(episode, goes_on=True), now)
    return state, ()


def _sandbox_image_lost(state: State, at: datetime, now: datetime) -> tuple[State, Sequence[Output]]:
    """Report a lost sandbox image: image GC deletes an unused one too, and then no pod can start (section G)."""
    episode = state.episodes.get("insufficient_freed")
    if episode is None or episode.sandbox_image_lost_at is not None:
        return state, ()
    lost = msgspec.structs.replace(episode, sandbox_image_lost_at=at)
    return _judge(state, "insufficient_freed", lost, now)


def _percents(state: State) -> Settings:
    config = state.config
    high = config.image_gc_high_threshold_percent if config else None
    low = config.image_gc_low_threshold_percent if config else None
    return Settings(
        DEFAULT_HIGH_PERCENT if high is None else high,
        DEFAULT_LOW_PERCENT if low is None else low,
        assumed=high is None or bool(state.intended_by),
        intended_by="" if high is None else state.intended_by,
    )


def _decision(state: State) -> ImageGcDecision | None:
    """Return image GC's decision for the last sample; None without a sample."""
    if state.capacity is None:
        return None
    settings = _percents(state)
    return decide(*state.capacity, settings.high_percent, settings.low_percent)


def _judge(state: State, reason: str, episode: Episode, now: datetime) -> tuple[State, Sequence[Output]]:
    """Store an episode, and write its row if it has a verdict."""
    found = verdict(episode, state.starts)
    if not found:
        return msgspec.structs.replace(state, episodes={**state.episodes, reason: episode}), ()
    state, row = _write(state, reason, episode, found, now)
    return state, (row,)


def _write(state: State, reason: str, episode: Episode, found: str, now: datetime) -> tuple[State, ImageGc]:
    episode = msgspec.structs.replace(episode, verdict=found)
    state = msgspec.structs.replace(state, episodes={**state.episodes, reason: episode})
    return state, row_of(state.cluster, state.node, episode, found, now)


REDUCER: Final = Reducer(
    name="image_gc",
    version=5,
    log="node",
    takes=(EventRecord, SettingsRecord, SampleRecord, MetricsRecord, NodeRecord),
    state=State,
    step=step,
    expire=expire,
)
