"""ImageGCInsufficientFreed: image GC runs and frees too little."""

from collections.abc import Sequence
from typing import Final

import msgspec

from common.amounts import size
from streams.alerting.definition import AlertDefinition, Change, Need, Now
from streams.alerting.image_gc import failing, on_verdict, times
from streams.alerting.rule_settings import RuleSettings
from streams.fold.findings import EvictionSignal, ImageGc, KubeletSetting, frees_too_little
from streams.rules.image_gc.thresholds import usage_percent

_IMAGEFS: Final = "imagefs.available"


class State(msgspec.Struct, frozen=True):
    """Kept only while the alert is active."""

    high_percent: int | None = None
    """Usage at which image GC begins."""
    used_percent: int | None = None


_NOTHING: Final = State()


def step(
    settings: RuleSettings, state: State, rows: Sequence[ImageGc | KubeletSetting | EvictionSignal], now: Now
) -> tuple[State, Sequence[Change]]:
    """Judge new rows. This runs for every sample of every node, and usually image GC does not fail."""
    changes: list[Change] = []
    high, used = state.high_percent, state.used_percent
    for row in rows:
        if isinstance(row, EvictionSignal):
            if row.signal == _IMAGEFS and row.capacity > 0:
                used = usage_percent(row.available, row.capacity)
        elif isinstance(row, KubeletSetting):
            high = row.image_gc_high_percent
        else:
            is_ours = row.verdict in {"persistent", "insufficient_freed"} and frees_too_little(
                row.verdict, row.reason
            )
            found = [*on_verdict(row, settings, now, is_ours=is_ours, summary=_summary)]
            changes += found
            if row.verdict == "recovered" and now.of({"reason": row.reason}):
                high = None  # usage does not keep a recovered failure active
            elif found:
                high = row.high_percent
    return (State(high, used) if now.active or changes else _NOTHING), changes


def is_full(state: State) -> bool:
    """Tell whether usage still reaches the threshold, even if Events were dropped (rules: dropped-events)."""
    return (
        state.used_percent is not None and state.high_percent is not None and state.used_percent >= state.high_percent
    )


def _summary(row: ImageGc) -> str:
    used = "" if row.usage_percent is None else f" at {row.usage_percent} % used (limit {row.high_percent} %)"
    wanted = "" if row.wanted_bytes is None else f" of {size(row.wanted_bytes)}"
    freed = "" if row.freed_bytes is None else f": {size(row.freed_bytes)}{wanted}"
    return f"{failing(row)}{freed}{used}, {times(row)}"


ALERT: Final = AlertDefinition(
    name="ImageGCInsufficientFreed",
    settings=RuleSettings,
    needs=(
        Need("events or samples", "neither a failure nor usage is seen: it cannot fire"),
        Need("events", "it fires late: only 16 min above the threshold show it", required=False),
        Need("configz", "thresholds of 85 and 80 percent are assumed, and usage alone shows nothing", required=False),
    ),
    node_rows=(ImageGc, KubeletSetting, EvictionSignal),
    state=State,
    step=step,
    lasts=is_full,
    exhausts=frozenset({"ephemeral-storage", "inodes"}),
)
