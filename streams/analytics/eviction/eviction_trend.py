"""Reports each eviction signal's distance to its thresholds, and when it crosses them: table `eviction_signals`."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from common.durations import parse_duration
from ingest.messages.reasons import is_kubelet_start
from ingest.model.objects.event import event_time
from ingest.model.objects.node import KubeletConfiguration
from ingest.model.records import EventRecord, KnownNodeRecord, NodeRecord, Record, SampleRecord, SettingsRecord
from streams.fold.findings import EvictionSignal
from streams.fold.reducer import Output, Reducer
from streams.rules.eviction.forecast import NO_HISTORY, AmountHistory, follow, forecast, since
from streams.rules.eviction.signals import RESOURCES, Layout, Observed, layout_of, observe
from streams.rules.eviction.thresholds import (
    NodeThresholds,
    SignalThresholds,
    effective_thresholds,
    first_met,
    first_to_act,
    threshold_value,
)
from streams.rules.eviction.trend import Line
from streams.rules.image_gc.thresholds import (
    DEFAULT_HIGH_PERCENT,
    acts_before_eviction,
    gc_threshold_available_bytes,
    is_disabled,
)

SOFT_GAP: Final = timedelta(minutes=5)
"""Longest time between samples for which a soft threshold counts as met all the time."""
_NO_THRESHOLDS: Final = SignalThresholds()
_NEVER: Final = (None, None, None)


class State(msgspec.Struct, frozen=True):
    config: KubeletConfiguration | None = None
    intended_by: str = ""
    """The ConfigMap from which `config` comes, if the kubelet did not answer."""
    kubelet_version: str = ""
    windows: bool = False
    layout: Layout = Layout.SINGLE
    thresholds: NodeThresholds | None = None
    """Thresholds in force for configuration, version and layout; None until they are needed."""
    courses: dict[str, AmountHistory] = {}
    """Courses by signal."""
    soft_since: dict[str, datetime] = {}
    """The first of consecutive samples below the soft threshold, by signal."""
    sampled_at: datetime | None = None


class _Followed(NamedTuple):
    """The result of `follow` for one signal. Signals of one file system share it, because they are alike."""

    before: AmountHistory
    course: AmountHistory
    line: Line | None


def step(state: State, record: Record) -> tuple[State, Sequence[Output]]:
    match record:
        case SampleRecord():
            return _sample(state, record)
        case SettingsRecord():
            return _settings(state, record), ()
        case NodeRecord() | KnownNodeRecord():
            return _node(state, record), ()
        case EventRecord() if _is_kubelet_start(record):
            return _forget_before_start(state, event_time(record.object) or record.ts), ()
        case _:
            return state, ()


def _settings(state: State, record: SettingsRecord) -> State:
    """Apply new settings.

    Raises BadRecord for settings with which no kubelet would start; the earlier ones stay in force.
    """
    if (record.config, record.intended_by) == (state.config, state.intended_by):
        return state
    thresholds = effective_thresholds(record.config, state.kubelet_version, state.layout, windows=state.windows)
    parse_duration(record.config.image_maximum_gc_age)
    is_same = state.config is not None and state.config.eviction_soft == record.config.eviction_soft
    soft_since = state.soft_since if is_same else {}
    return msgspec.structs.replace(
        state, config=record.config, intended_by=record.intended_by, thresholds=thresholds, soft_since=soft_since
    )


def _forget_before_start(state: State, at: datetime) -> State:
    """Forget everything before a start of the kubelet. A list repeats old starts, which change nothing."""
    start = at.timestamp()
    courses = {signal: since(course, start) for signal, course in state.courses.items()}
    if courses == state.courses and not any(since < at for since in state.soft_since.values()):
        return state
    soft_since = {signal: since for signal, since in state.soft_since.items() if since >= at}
    return msgspec.structs.replace(state, courses=courses, soft_since=soft_since)


def _node(state: State, record: NodeRecord | KnownNodeRecord) -> State:
    info = record.object.status.node_info
    version, windows = info.kubelet_version, info.operating_system == "windows"
    if (version, windows) == (state.kubelet_version, state.windows):
        return state
    return msgspec.structs.replace(state, kubelet_version=version, windows=windows, thresholds=None)


def _is_kubelet_start(record: EventRecord) -> bool:
    event = record.object
    involved = event.involved
    return record.change == "ADDED" and involved.kind == "Node" and is_kubelet_start(event.reason, event.text)


def _sample(state: State, record: SampleRecord) -> tuple[State, Sequence[Output]]:
    layout = layout_of(record.sample)
    thresholds = state.thresholds
    if thresholds is None or layout is not state.layout:
        thresholds = effective_thresholds(state.config, state.kubelet_version, layout, windows=state.windows)
    gc_bytes = _image_gc_begins(state.config, record)
    seconds = record.ts.timestamp()
    courses = dict(state.courses)
    followed_on = state.sampled_at is not None and record.ts - state.sampled_at <= SOFT_GAP
    soft_since: dict[str, datetime] = {}
    followed_by_course: dict[Observed, _Followed] = {}
    rows: list[EvictionSignal] = []
    for signal, observed in observe(record.sample).items():
        before = courses.get(signal, NO_HISTORY)
        followed = followed_by_course.get(observed)
        if followed is None or followed.before != before:
            course, line = follow(before, seconds, observed.available, observed.capacity)
            followed = followed_by_course[observed] = _Followed(before, course, line)
        courses[signal] = followed.course
        texts = thresholds.by_signal.get(signal, _NO_THRESHOLDS)
        row = _row(record, signal, observed, texts, followed, layout, gc_bytes, thresholds.assumed)
        if state.intended_by:
            row = row._replace(thresholds_assumed=True, intended_by=state.intended_by)
        if row.soft_met:
            soft_since[signal] = state.soft_since.get(signal, record.ts) if followed_on else record.ts
            row = row._replace(soft_met_since=soft_since[signal])
        rows.append(row)
    ahead = msgspec.structs.replace(
        state, layout=layout, thresholds=thresholds, courses=courses, soft_since=soft_since, sampled_at=record.ts
    )
    return ahead, [row._replace(acts_first=_acts_first(row, rows)) if _nears(row) else row for row in rows]


def _acts_first(row: EvictionSignal, rows: Iterable[EvictionSignal]) -> str:
    """Return what stops the fall of a signal before its other thresholds.

    Evicting pods for one signal of a resource, or deleting images, frees what all signals of the resource count.
    """
    if row.gc_first:
        return "image_gc"
    own = _first_to_act(row)
    others = ((_first_to_act(other)[0], other.signal) for other in rows if other is not row and _is_one(other, row))
    return min((other for other in others if other[0] < own[0]), default=own)[1]


def _first_to_act(row: EvictionSignal) -> tuple[float, str]:
    return first_to_act(row.seconds_to_hard, row.seconds_to_soft, row.soft_grace_seconds)


def _nears(row: EvictionSignal) -> bool:
    return row.seconds_to_hard is not None or row.seconds_to_soft is not None


def _is_one(one: EvictionSignal, other: EvictionSignal) -> bool:
    """Tell whether both signals are of one resource and, for a disk, of one file system."""
    resource = RESOURCES[one.signal]
    return resource == RESOURCES[other.signal] and (resource == "memory" or one.capacity == other.capacity)


def _row(
    record: SampleRecord,
    signal: str,
    observed: Observed,
    texts: SignalThresholds,
    followed: _Followed,
    layout: Layout,
    gc_bytes: int | None,
    assumed: bool,
) -> EvictionSignal:
    available, capacity = observed
    hard = _value(texts.hard, capacity)
    soft = _value(texts.soft, capacity)
    first = first_met(hard, soft)
    line = followed.line
    soft_earliest, soft_likely, soft_latest = forecast(followed.course, line, available, soft) or _NEVER
    hard_earliest, hard_likely, hard_latest = forecast(followed.course, line, available, hard) or _NEVER
    return EvictionSignal(
        *record.row_key,
        signal=signal,
        available=available,
        capacity=capacity,
        hard_threshold=hard,
        soft_threshold=soft,
        soft_grace_seconds=texts.soft_grace_seconds,
        hard_met=hard is not None and available < hard,
        soft_met=soft is not None and available < soft,
        slope_per_second=line.per_second if line is not None and line.is_significant else None,
        seconds_to_soft=soft_likely,
        seconds_to_hard=hard_likely,
        gc_first=gc_bytes is not None and first is not None and acts_before_eviction(signal, layout, first, gc_bytes),
        thresholds_assumed=assumed,
        seconds_to_soft_earliest=soft_earliest,
        seconds_to_soft_latest=soft_latest,
        seconds_to_hard_earliest=hard_earliest,
        seconds_to_hard_latest=hard_latest,
        minimum_reclaim=_value(texts.minimum_reclaim, capacity),
    )


@lru_cache(maxsize=65_536)
def _value(text: str | None, capacity: int) -> int | None:
    return None if text is None else threshold_value(text, capacity)


def _image_gc_begins(config: KubeletConfiguration | None, record: SampleRecord) -> int | None:
    """Return the available bytes below which image GC frees space on the image file system; None if it never does.

    If the image file system has capacity 0, image GC gives up (rules: image-gc-loop).
    """
    capacity = record.sample.imagefs_capacity_bytes
    if not capacity:
        return None
    high = DEFAULT_HIGH_PERCENT
    if config is not None and config.image_gc_high_threshold_percent is not None:
        high = config.image_gc_high_threshold_percent
    age = parse_duration(config.image_maximum_gc_age) if config is not None else 0.0
    return None if is_disabled(high, age) else gc_threshold_available_bytes(capacity, high)


REDUCER: Final = Reducer(
    name="eviction_trend",
    version=3,
    log="node",
    takes=(SampleRecord, SettingsRecord, NodeRecord, KnownNodeRecord, EventRecord),
    state=State,
    step=step,
)
