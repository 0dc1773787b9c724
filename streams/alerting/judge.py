"""One set of rules over the findings of one log."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from ingest.model.records import DeadLetterRecord, Record
from streams.alerting import image_gc, placement, pressure, sources
from streams.alerting.holding import State, fired, resolve_all, resolved
from streams.alerting.rules import AlertRules
from streams.fold.findings import (
    Alert,
    Eviction,
    EvictionSignal,
    ImageGc,
    KubeletSetting,
    LateJoiners,
    NodeEvent,
    NodeFit,
    NodeRow,
    NumaSkew,
    PressureChange,
    Row,
    SchedulerBlindSpot,
    SourceError,
)
from streams.fold.reducer import Concluded

_MOMENT: Final = timedelta(microseconds=1)
_Condition = Callable[[State, Any, datetime, AlertRules], State]
_OF_ONE: Final[dict[type[Row | Record], _Condition]] = {
    Eviction: pressure.evicted,
    PressureChange: pressure.pressure,
    ImageGc: image_gc.image_gc,
    KubeletSetting: image_gc.settings,
    NodeEvent: image_gc.every_capacity_event,
    NumaSkew: placement.numa,
    LateJoiners: placement.late_joiners,
    SchedulerBlindSpot: placement.blind_spot,
    SourceError: sources.source_error,
    DeadLetterRecord: sources.dead_letter,
}


def judge(rules: AlertRules, state: State, concluded: Concluded) -> tuple[State, Sequence[Alert]]:
    """What the findings of one record change about the alerts of a log."""
    at = concluded.at
    told: list[Alert] = []
    if state.entries:
        # what was quiet for long enough before this moment was over then, although it may be true again now
        state, told = resolved(state, at - _MOMENT, image_gc.still_full(state))
    if not state.cluster and concluded.rows:
        first = concluded.rows[0]
        state = msgspec.structs.replace(state, cluster=first.cluster, node=concluded.node)
    # by exact type, not by a match: this runs for every sample of every node
    signals: list[Any] = [row for row in concluded.rows if type(row) is EvictionSignal]
    fits: list[Any] = [row for row in concluded.rows if type(row) is NodeFit]
    if len(signals) + len(fits) < len(concluded.rows):
        state, gone = _others(rules, state, concluded)
        told += gone
    if signals:
        state = pressure.signals(state, signals, at, rules)
        if state.failures or state.entries:
            state = sources.heard(state, sources.SUMMARY, at)
    if fits:
        state = placement.fits(state, fits, at, rules)
    if state.entries:
        state, over = resolved(state, at, image_gc.still_full(state))
        state, firing = fired(state, at, tell_changes=concluded.new_minute)
        told += over + firing
    return state, told


def _others(rules: AlertRules, state: State, concluded: Concluded) -> tuple[State, list[Alert]]:
    told: list[Alert] = []
    for row in concluded.rows:
        condition = _OF_ONE.get(type(row))
        if condition is not None:
            state = condition(state, row, concluded.at, rules)
        elif isinstance(row, NodeRow) and row.deleted:
            state, gone = resolve_all(state, concluded.at)
            told += gone
    return state, told
