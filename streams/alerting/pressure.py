"""Alerts about eviction: a threshold that comes near, pods that were evicted, pressure that comes and goes (C)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from streams.alerting.holding import Said, State, ends, happened, holds, is_over, key_of
from streams.alerting.words import amount, lasting, name, pods, some
from streams.fold.findings import Eviction, EvictionSignal, PressureChange
from streams.rules.eviction.signals import RESOURCES

if TYPE_CHECKING:
    from streams.alerting.rules import AlertRules

MAX_MEMBERS: Final = 1000
"""Pods of one alert that are told apart; of a larger storm, what is more counts by every row."""
_NEAR: Final = "EvictionThresholdNear"
_RESOURCES: Final = tuple(sorted(set(RESOURCES.values())))
_KEYS: Final = {resource: key_of(_NEAR, {"resource": resource}) for resource in _RESOURCES}
_UNEXPLAINED: Final = 0.1
_IMAGEFS: Final = "imagefs.available"
_ADVICE: Final = {
    "memory": "The pod whose working set exceeds its memory request the most goes first, lower priority before that",
    "ephemeral-storage": (
        "Free space on the node's file system: logs, emptyDir volumes, images, and what lies outside of pods; pods "
        "over their ephemeral-storage request go first"
    ),
    "inodes": "Find what makes many small files on the node; pods with most inodes go first within a priority",
    "pids": "Find what forks: pods of low priority with most processes go first",
}


def signals(state: State, rows: Sequence[EvictionSignal], at: datetime, rules: "AlertRules") -> State:
    """The signals of one sample. Called for every sample of every node: mostly there is nothing to say."""
    rule = rules.alerts.EvictionThresholdNear
    within = rule.within_seconds
    near = [
        row
        for row in rows
        if (row.seconds_to_hard is not None and row.seconds_to_hard <= within)
        or (row.seconds_to_soft is not None and row.seconds_to_soft <= within)
    ]
    if not near and not state.entries:
        return state
    state = _with_image_usage(state, rows)
    if rule.wait_for_image_gc and not _image_gc_fails(state):
        near = [row for row in near if row.hard_met or row.soft_met or not row.gc_first]
    if not rule.enabled:
        return state
    nearest: dict[str, EvictionSignal] = {}
    for row in sorted(near, key=_seconds_left):
        nearest.setdefault(RESOURCES[row.signal], row)
    for resource in _RESOURCES:
        if resource in nearest:
            row = nearest[resource]
            hurry = row.hard_met or row.soft_met or _seconds_left(row) < rule.for_seconds
            state = holds(state, _near(row, resource), at, rules, at_once=hurry)
        else:
            state = ends(state, _KEYS[resource], at)
    return state


def _seconds_left(row: EvictionSignal) -> float:
    """Until a threshold is met; of a soft one, until its grace period is over as well."""
    hard = 0.0 if row.hard_met else row.seconds_to_hard
    soft = 0.0 if row.soft_met else row.seconds_to_soft
    grace = row.soft_grace_seconds or 0.0
    return min(float("inf") if hard is None else hard, float("inf") if soft is None else soft + grace)


def _near(row: EvictionSignal, resource: str) -> Said:
    is_hard, when = _first(row)
    threshold = row.hard_threshold if is_hard else row.soft_threshold
    kind = "hard" if is_hard else "soft"
    left = amount(row.available, resource)
    limit = "" if threshold is None else f", threshold {amount(threshold, resource)}"
    grace = ""
    if not is_hard and row.soft_grace_seconds:
        grace = f" Its grace period is {lasting(row.soft_grace_seconds)}."
    assumed = " No /configz was seen: the threshold is the default of that kubelet." if row.thresholds_assumed else ""
    return Said(
        _NEAR,
        {"resource": resource},
        f"Node {name(row.node)}: {row.signal} {when} its {kind} eviction threshold ({left} left{limit})",
        f"The kubelet evicts pods, one after the other, once {row.signal} is below the threshold.{grace} "
        f"{_ADVICE[resource]}. Who goes first: leadsman query next_eviction.{assumed}",
    )


def _first(row: EvictionSignal) -> tuple[bool, str]:
    """Whether the hard threshold is the one to speak of, and what of it."""
    if row.hard_met:
        return True, "is below"
    if row.soft_met:
        return False, "is below"
    hard, soft = row.seconds_to_hard, row.seconds_to_soft
    if soft is None or (hard is not None and hard <= soft):
        return True, f"meets in {lasting(hard or 0.0)}"
    return False, f"meets in {lasting(soft)}"


def _image_gc_fails(state: State) -> bool:
    return any(entry.labels["alertname"].startswith("ImageGC") for entry in state.entries.values())


def _with_image_usage(state: State, rows: Sequence[EvictionSignal]) -> State:
    """How full the image file system is, counted as image GC does (B1), while that matters to an alert."""
    if not _image_gc_fails(state):
        return state
    row = next((row for row in rows if row.signal == _IMAGEFS), None)
    if row is None or row.capacity <= 0:
        return state
    used = 100 - min(row.available, row.capacity) * 100 // row.capacity
    if used == state.imagefs_used_percent:
        return state
    return msgspec.structs.replace(state, imagefs_used_percent=used)


def evicted(state: State, row: Eviction, at: datetime, rules: "AlertRules") -> State:
    """One alert for all pods of one cause and resource."""
    rule = rules.alerts.PodsEvicted
    if not rule.enabled or is_over(at, row.ts, rule.keep_firing_seconds):
        return state
    labels = {"cause": row.cause, "resource": row.resource or "unknown"}
    before = state.entries.get(key_of("PodsEvicted", labels))
    members = before.members if before else {}
    pod = f"{row.namespace}/{row.pod} {row.uid}"
    if pod in members:
        return state
    counted = pod if len(members) < MAX_MEMBERS else ""
    members = {**members, counted: members.get(counted, 0) + 1}
    first = min(row.ts, before.first_at or row.ts) if before else row.ts
    last = max(row.ts, before.last_at or row.ts) if before else row.ts
    said = Said("PodsEvicted", labels, *_evicted_words(row, members, (last - first).total_seconds()))
    wanted = {"pressure": rule.pods_pressure, "admission": rule.pods_admission}.get(row.cause, rule.pods_limit)
    grouped = {"members": members, "wanted": wanted, "first_at": first, "last_at": last}
    return happened(state, said, at, rules, until=row.ts, **grouped)


def _evicted_words(row: Eviction, members: dict[str, int], seconds: float) -> tuple[str, str]:
    count = sum(members.values())
    within = f" within {lasting(seconds)}" if count > 1 else ""
    which = some(pod.rpartition(" ")[0] for pod in members if pod)
    node, resource = name(row.node), name(row.resource) or "an unknown resource"
    match row.cause:
        case "admission":
            summary = f"Node {node}: {pods(count)} rejected at admission{within} ({resource})"
            return summary, (
                f"The node is under pressure, so its kubelet rejects pods that were bound to it: {which}. A "
                "ReplicaSet that makes them anew is rejected again. End the pressure, or cordon the node: leadsman "
                "query admission_storms."
            )
        case "limit":
            summary = f"Node {node}: {pods(count)} evicted{within} for a limit of their own"
            return summary, f"{which}: {name(row.message)} Raise the limit, or find what fills the pod."
        case _:
            outside = ""
            if row.pods_usage_ratio is not None and row.pods_usage_ratio < _UNEXPLAINED:
                outside = " No pod explains it: what fills the node lies outside of pods."
            summary = f"Node {node}: {pods(count)} evicted{within}, low on {resource}{_left(row)}"
            return summary, (
                f"{which}.{outside} {_ADVICE.get(row.resource, 'See what uses it')}. Each eviction with the rank "
                "that was predicted: leadsman query evicted_pods."
            )


def _left(row: Eviction) -> str:
    if row.available is None or row.threshold is None:
        return ""
    return f" ({amount(row.available, row.resource)} left, threshold {amount(row.threshold, row.resource)})"


def pressure(state: State, row: PressureChange, at: datetime, rules: "AlertRules") -> State:
    """How often pressure began within the window."""
    rule = rules.alerts.PressureOscillation
    window = timedelta(seconds=rule.window_seconds)
    if not rule.enabled or not row.status or row.kubelet_restart or at >= row.ts + window:
        return state
    begun = tuple(sorted({*state.pressures.get(row.condition, ()), row.ts}))
    begun = tuple(ts for ts in begun if ts > begun[-1] - window)[-MAX_MEMBERS:]
    if begun == state.pressures.get(row.condition):
        return state
    state = msgspec.structs.replace(state, pressures={**state.pressures, row.condition: begun})
    if len(begun) < rule.times:
        return state
    said = Said(
        "PressureOscillation",
        {"condition": row.condition},
        f"Node {name(row.node)}: {row.condition} began {len(begun)} times within "
        f"{lasting((begun[-1] - begun[0]).total_seconds())}",
        "Each time pods are evicted and new ones come, until the next time. Find what fills the node again, or make "
        "evictionMinimumReclaim larger so that an eviction frees enough; a longer evictionPressureTransitionPeriod "
        "keeps new pods away in between. See leadsman query pressure_oscillation.",
    )
    return happened(state, said, at, rules, until=begun[-rule.times] + window)
