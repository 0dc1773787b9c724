"""EvictionThresholdNear: a signal meets an eviction threshold, soon will, or runs out without a threshold."""

from collections.abc import Sequence
from typing import Final, Literal

import pydantic

from common.durations import ahead_in_words, in_words
from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Now
from streams.alerting.rule_settings import Percent, RuleSettings, Seconds
from streams.alerting.words import EVICTION_ADVICE, name
from streams.fold.findings import EvictionSignal
from streams.fold.reasons import guard, without_threshold
from streams.fold.reducer import NoState
from streams.fold.titles import near
from streams.rules.eviction.signals import CONSEQUENCES, RESOURCES, Reading, describe_signal, is_low, unguarded_of
from streams.rules.eviction.thresholds import first_to_act
from streams.rules.values.wording import amount_left

_RESOURCES: Final = tuple(sorted(set(RESOURCES.values())))


class Settings(RuleSettings):
    within_seconds: Seconds = pydantic.Field(alias="within")
    by: Literal["earliest", "likely"]
    wait_for_image_gc: bool
    unguarded_percent: Percent


def step(
    settings: Settings, state: NoState, rows: Sequence[EvictionSignal], now: Now
) -> tuple[NoState, Sequence[Change]]:
    """Judge the signals of one sample. This runs for every sample of every node, and usually no threshold is near."""
    near = [
        row
        for row in rows
        if any(seconds is not None and seconds <= settings.within_seconds for seconds in _seconds(row, settings))
    ]
    low = [row for row in rows if is_low(row.available, row.capacity, settings.unguarded_percent)]
    unguarded = _unguarded(rows) if low else frozenset()
    bare = [row for row in low if row.signal in unguarded]
    if not near and not bare and not now.active:
        return state, ()
    if settings.wait_for_image_gc and not now.depended_on:
        near = [row for row in near if row.hard_met or row.soft_met or not row.gc_first]
    nearest: dict[str, EvictionSignal] = {}
    for row in sorted(near, key=lambda row: _seconds_left(row, settings)):
        nearest.setdefault(RESOURCES[row.signal], row)
    for row in sorted(bare, key=lambda row: row.available / row.capacity):
        nearest.setdefault(RESOURCES[row.signal], row)
    return state, [
        _holds(nearest[resource], resource, settings) if resource in nearest else Ends({"resource": resource})
        for resource in _RESOURCES
    ]


def _holds(row: EvictionSignal, resource: str, settings: Settings) -> Holds:
    has_threshold = row.hard_threshold is not None or row.soft_threshold is not None
    return _near(row, resource, settings) if has_threshold else _bare(row, resource)


def _unguarded(rows: Sequence[EvictionSignal]) -> frozenset[str]:
    return unguarded_of(
        Reading(row.signal, row.available, row.capacity, (row.hard_threshold, row.soft_threshold) != (None, None))
        for row in rows
    )


def _seconds(row: EvictionSignal, settings: Settings) -> tuple[float | None, float | None]:
    """Return the seconds until the hard and the soft threshold, by the forecast that the rules choose."""
    if settings.by == "earliest":
        return row.seconds_to_hard_earliest, row.seconds_to_soft_earliest
    return row.seconds_to_hard, row.seconds_to_soft


def _seconds_left(row: EvictionSignal, settings: Settings) -> float:
    return first_to_act(*_seconds(row, settings), row.soft_grace_seconds)[0]


def _near(row: EvictionSignal, resource: str, settings: Settings) -> Holds:
    is_hard, when = _first(row)
    threshold = row.hard_threshold if is_hard else row.soft_threshold
    left = near(row.signal, row.available, threshold, is_hard=is_hard, when=when)
    grace = ""
    if not is_hard and row.soft_grace_seconds:
        grace = f" for longer than its grace period, {in_words(row.soft_grace_seconds)},"
    assumed = f" {row.assumption}" if row.thresholds_assumed else ""
    return Holds(
        {"resource": resource},
        f"Node {name(row.node)}: {describe_signal(row.signal)} ({row.signal}): {left}",
        f"Below the threshold{grace} the kubelet evicts pods, one after the other. "
        f"{EVICTION_ADVICE[resource]}. See which pod is next: leadsman query next_eviction.{assumed}",
        at_once=row.hard_met or row.soft_met or _seconds_left(row, settings) < settings.for_seconds,
    )


def _bare(row: EvictionSignal, resource: str) -> Holds:
    left = amount_left(resource in {"memory", "ephemeral-storage"}, row.available, row.capacity)
    why = without_threshold(row.signal, row.thresholds_assumed and not row.intended_by)
    return Holds(
        {"resource": resource},
        f"Node {name(row.node)}: {describe_signal(row.signal)} ({row.signal}): {left}, and no eviction threshold",
        f"{CONSEQUENCES[resource]} {EVICTION_ADVICE[resource]}. {why} {guard(row.signal)}",
        at_once=row.available * 100 < row.capacity,
    )


def _first(row: EvictionSignal) -> tuple[bool, str]:
    """Choose the threshold to name.

    Return whether it is the hard one, and when it will be met; empty if it is met now.
    """
    if row.hard_met:
        return True, ""
    if row.soft_met:
        return False, ""
    hard, soft = row.seconds_to_hard, row.seconds_to_soft
    if soft is None or (hard is not None and hard <= soft):
        return True, ahead_in_words(row.seconds_to_hard_earliest, hard or 0.0, row.seconds_to_hard_latest)
    return False, ahead_in_words(row.seconds_to_soft_earliest, soft, row.seconds_to_soft_latest)


ALERT: Final = AlertDefinition(
    name="EvictionThresholdNear",
    settings=Settings,
    needs=(
        Need("samples", "no signal is known: it cannot fire"),
        Need("configz", "the thresholds are assumed to be the defaults of that kubelet", required=False),
        Need("thresholds", "a signal has no threshold: it fires only when little is left", required=False),
    ),
    node_rows=(EvictionSignal,),
    step=step,
    depends_on=("ImageGCInvalidCapacity", "ImageGCInsufficientFreed", "ImageGCRestartLoop"),
    foretells=True,
)
