"""Alerts about image garbage collection that does not do its work (B)."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from streams.alerting.holding import Said, State, happened, is_over, key_of
from streams.alerting.words import name, size
from streams.fold.findings import ImageGc, KubeletSetting, NodeEvent

if TYPE_CHECKING:
    from streams.alerting.rules import AlertRules

_INVALID: Final = "ImageGCInvalidCapacity"
_INSUFFICIENT: Final = "ImageGCInsufficientFreed"
_LOOP: Final = "ImageGCRestartLoop"
_ALERTS: Final = {"restart_loop": _LOOP, "insufficient_freed": _INSUFFICIENT}
_TOO_LITTLE: Final = frozenset({"insufficient_freed", "delete_error"})


def image_gc(state: State, row: ImageGc, at: datetime, rules: "AlertRules") -> State:
    """A verdict on image GC. A benign start-up, and what has recovered, raise nothing."""
    if row.verdict == "recovered":
        for key in [key for key, entry in state.entries.items() if entry.labels.get("reason") == row.reason]:
            state = _ends_now(state, key, at)
        return state
    if row.verdict not in {"persistent", *_ALERTS}:
        return state
    alertname = _ALERTS.get(row.verdict, _INSUFFICIENT if row.reason in _TOO_LITTLE else _INVALID)
    rule = rules.of(alertname)
    if not rule.enabled or is_over(at, row.last_at, rule.keep_firing_seconds):
        return state
    state = msgspec.structs.replace(state, image_gc_high_percent=row.high_percent)
    said = Said(alertname, {"reason": row.reason}, _summary(row, alertname), row.explanation)
    return happened(state, said, at, rules, until=row.last_at)


def still_full(state: State) -> frozenset[str]:
    """Alerts that go on while usage stays over the threshold, whatever became of the kubelet's events (F3)."""
    used, high = state.imagefs_used_percent, state.image_gc_high_percent
    if used is None or high is None or used < high:
        return frozenset()
    return frozenset(key for key, entry in state.entries.items() if entry.labels["alertname"] == _INSUFFICIENT)


def settings(state: State, row: KubeletSetting, _at: datetime, _rules: "AlertRules") -> State:
    """From which usage on image GC begins."""
    if not any(entry.labels["alertname"] == _INSUFFICIENT for entry in state.entries.values()):
        return state
    return msgspec.structs.replace(state, image_gc_high_percent=row.image_gc_high_percent)


def every_capacity_event(state: State, row: NodeEvent, at: datetime, rules: "AlertRules") -> State:
    """With the switch for those who want to hear of every InvalidDiskCapacity."""
    if not rules.every_invalid_disk_capacity or row.reason != "InvalidDiskCapacity" or not row.occurrences:
        return state
    rule = rules.of(_INVALID)
    labels = {"reason": "invalid_capacity"}
    if not rule.enabled or is_over(at, row.ts, rule.keep_firing_seconds):
        return state
    before = state.entries.get(key_of(_INVALID, labels))
    said = Said(
        _INVALID,
        labels,
        f"Node {name(row.node)}: InvalidDiskCapacity, {name(row.message)}",
        "The kubelet read capacity 0 of its image file system and left image GC undone. Once at its start this heals "
        "itself; again five minutes later it does not. The verdict: leadsman query image_gc_now.",
    )
    if before is not None and before.description != said.description:
        said = said._replace(summary=before.summary, description=before.description)
    return happened(state, said, at, rules, until=row.ts)


def _summary(row: ImageGc, alertname: str) -> str:
    times = f"{'at least ' if row.occurrences_lower_bound else ''}{row.occurrences} times"
    node = name(row.node)
    if alertname == _LOOP:
        return f"Node {node}: the kubelet restarts again and again, and image GC failed at the start {times}"
    if alertname == _INVALID:
        what = "reads capacity 0" if row.reason == "invalid_capacity" else f"fails ({row.reason})"
        return f"Node {node}: image GC {what} ({times}), so no image is deleted any more"
    used = "" if row.usage_percent is None else f" at {row.usage_percent} % used (limit {row.high_percent} %)"
    wanted = "" if row.wanted_bytes is None else f" of {size(row.wanted_bytes)}"
    freed = "too little" if row.freed_bytes is None else f"{size(row.freed_bytes)}{wanted}"
    return f"Node {node}: image GC freed {freed}{used}, {times}"


def _ends_now(state: State, key: str, at: datetime) -> State:
    """It is over: nothing is kept firing."""
    entry = state.entries[key]
    ended = msgspec.structs.replace(entry, ended_at=at, keep_seconds=0.0)
    return msgspec.structs.replace(
        state, entries={**state.entries, key: ended}, imagefs_used_percent=None, image_gc_high_percent=None
    )
