"""EvictionTooLate: memory runs out before the kubelet checks again, at once or after swap (rules: psi-and-swap)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import pydantic

from common.amounts import size
from common.durations import in_words
from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Now
from streams.alerting.rule_settings import RuleSettings, Seconds
from streams.alerting.words import name
from streams.fold.findings import EvictionSignal, NodeStall
from streams.rules.eviction.signals import MEMORY_AVAILABLE
from streams.rules.eviction.trend import line

WINDOW_SECONDS: Final = 120.0


class Settings(RuleSettings):
    within_seconds: Seconds = pydantic.Field(alias="within")
    reaction_seconds: Seconds = pydantic.Field(alias="reaction")


class MemoryLeft(NamedTuple):
    """Remaining memory and swap of a node, in bytes."""

    at_seconds: float
    """Event time since 1970."""
    memory: int
    swap: int


class State(msgspec.Struct, frozen=True):
    left: tuple[MemoryLeft, ...] = ()
    """The last two minutes of a node that swaps; empty if a sample shows no swap in use."""


def step(
    settings: Settings, state: State, rows: Sequence[EvictionSignal | NodeStall], now: Now
) -> tuple[State, Sequence[Change]]:
    """Judge one sample. This runs for every sample of every node."""
    row = next((each for each in rows if isinstance(each, EvictionSignal) and each.signal == MEMORY_AVAILABLE), None)
    if row is None:
        return state, ()
    stall = next((each for each in rows if isinstance(each, NodeStall)), None)
    state = _with_sample(state, row, stall, now.at.timestamp())
    if row.seconds_to_hard is None and not state.left and not now.active:
        return state, ()
    return state, [_while_memory_falls(row, settings) or _while_swap_fills(row, state.left, settings) or Ends({})]


def _with_sample(state: State, row: EvictionSignal, stall: NodeStall | None, seconds: float) -> State:
    swap = stall.swap_available_bytes if stall is not None and stall.swap_usage_bytes else None
    if swap is None:
        return State() if state.left else state
    kept = [each for each in state.left if seconds - WINDOW_SECONDS <= each.at_seconds < seconds]
    return State((*kept, MemoryLeft(seconds, row.available, swap)))


def _while_memory_falls(row: EvictionSignal, settings: Settings) -> Holds | None:
    slope, threshold, ahead = row.slope_per_second, row.hard_threshold, row.seconds_to_hard
    if slope is None or slope >= 0 or threshold is None or ahead is None or ahead > settings.within_seconds:
        return None
    seconds_left = min(row.available, threshold) / -slope  # from the threshold on, or from now on if it is crossed
    if seconds_left >= settings.reaction_seconds:
        return None
    return Holds(
        {},
        f"Node {name(row.node)}: memory runs out {_late(seconds_left, settings)}",
        f"{size(row.available)} of memory ({row.signal}) left, falling by {size(-slope)} a second. The hard "
        f"eviction threshold is {size(threshold)}. {_advice(-slope, settings)}",
    )


def _while_swap_fills(row: EvictionSignal, left: Sequence[MemoryLeft], settings: Settings) -> Holds | None:
    """Return the alert for a node whose swap absorbs its growth.

    Memory stays level until swap is full, then falls at the full rate, so the forecast uses the sum of both.
    """
    both = line(tuple((each.at_seconds, float(each.memory + each.swap)) for each in left))
    threshold, reaction = row.hard_threshold, settings.reaction_seconds
    if threshold is None or both is None or not both.is_significant or left[-1].swap >= left[0].swap:
        return None
    pace, swap, above = -both.per_second, left[-1].swap, max(0, row.available - threshold)
    if pace <= 0 or min(row.available, threshold) >= reaction * pace:
        return None
    # swap that fills while the node has ample memory means that a pod has reached its own limit
    if above >= reaction * pace or above + swap > settings.within_seconds * pace:
        return None
    late = _late(min(row.available, threshold) / pace, settings)
    return Holds(
        {},
        f"Node {name(row.node)}: swap is full in {in_words(swap / pace)}, then memory runs out {late}",
        f"{size(row.available)} of memory ({row.signal}) left, and the hard eviction threshold is "
        f"{size(threshold)}. Memory does not fall while swap absorbs the growth of {size(pace)} a second. Eviction "
        f"ignores swap: {size(swap)} of it left. {_advice(pace, settings)}",
    )


def _late(seconds: float, settings: Settings) -> str:
    reaction = in_words(settings.reaction_seconds)
    return f"{in_words(seconds)} after eviction is due, but the kubelet needs up to {reaction}"


def _advice(pace: float, settings: Settings) -> str:
    return (
        "The kubelet compares every 10 s, so the kernel's OOM killer may act first, and may not choose the growing "
        "pod. Find that pod, and delete it if you can spare it: leadsman query next_eviction. Cordon the node until "
        "memory is free. To prevent it later, raise the hard threshold; "
        f"{size(2 * settings.reaction_seconds * pace)} would be enough at this pace: leadsman query node_sizing."
    )


ALERT: Final = AlertDefinition(
    name="EvictionTooLate",
    settings=Settings,
    needs=(
        Need("samples", "the pace at which memory falls is unknown: it cannot fire"),
        Need("configz", "the threshold is assumed to be the default of that kubelet", required=False),
    ),
    node_rows=(EvictionSignal, NodeStall),
    step=step,
    state=State,
)
