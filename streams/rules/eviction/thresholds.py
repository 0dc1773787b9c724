"""Computes the effective eviction thresholds of a node, and which one a message names (rules: eviction-thresholds).

A percentage is of the capacity of the signal's file system, with the kubelet's 32 bits. So 15 % and 10 % of one disk
are different numbers, and so are those of two disks.
"""

import re
import struct
from collections.abc import Mapping
from math import inf, isinf
from typing import Final

import msgspec

from common.durations import InvalidDuration, parse_duration
from common.errors import BadValue
from ingest.model.objects.node import KubeletConfiguration, Node
from streams.rules.eviction import signals
from streams.rules.eviction.signals import IMAGEFS_AVAILABLE, MEMORY_AVAILABLE, NODEFS_AVAILABLE, RESOURCES, Layout
from streams.rules.values.expressions import Expression, Operand
from streams.rules.values.quantity import InvalidQuantity, base_units
from streams.rules.values.version import is_at_least

DEFAULT_PRESSURE_TRANSITION_SECONDS: Final = 300.0

_IGNORED: Final = ("0%", "100%")
_SHOWN: Final = 64
_PERCENT: Final = re.compile(
    r"[+-]?(?:[0-9](?:_?[0-9]){0,31}(?:\.[0-9]{0,32})?|\.[0-9]{1,32})(?:[eE][+-]?[0-9]{1,3})?"
)
"""Numbers as Go parses them, except hexadecimal ones, infinity and NaN."""


class BadThreshold(BadValue):
    """A setting with which no kubelet would start; the message names the signal and the value."""


class SignalThresholds(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A signal's thresholds as texts, quantity or percent, or None. See `threshold_value`."""

    hard: str | None = None
    soft: str | None = None
    soft_grace_seconds: float | None = None
    """Time that the soft threshold must be met before pods are evicted; None without a soft threshold."""
    minimum_reclaim: str | None = None


class NodeThresholds(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The thresholds of a node. `by_signal` has only signals with a threshold, in the order of `signals.SIGNALS`."""

    by_signal: dict[str, SignalThresholds] = {}
    assumed: bool = False
    """True if the hard thresholds are the version's defaults, because no configuration has them."""


def first_met(hard: Operand, soft: Operand) -> Operand:
    """Return the higher of two thresholds, which a falling signal meets first; None or null without any."""
    if isinstance(hard, Expression):
        return Expression(f"if(ifNull({soft} > {hard}, {hard} IS NULL), {soft}, {hard})")
    return max((each for each in (hard, soft) if each is not None), default=None)


def first_to_act(
    seconds_to_hard: float | None, seconds_to_soft: float | None, grace_seconds: float | None
) -> tuple[float, str]:
    """Return the seconds until pods are evicted, and by which threshold: `hard`, `soft`, or empty for neither.

    The kubelet acts on a soft threshold after its grace period, on a hard one at once.
    """
    hard = (inf if seconds_to_hard is None else seconds_to_hard, "hard")
    soft = (inf if seconds_to_soft is None else seconds_to_soft + (grace_seconds or 0.0), "soft")
    first = min(hard, soft)
    return first if first[0] < inf else (inf, "")


def effective_thresholds(
    config: KubeletConfiguration | None,
    kubelet_version: str = "",
    layout: Layout = Layout.SINGLE,
    *,
    windows: bool = False,
) -> NodeThresholds:
    """Return the thresholds of a kubelet with `config`; its defaults without a config or without `evictionHard`.

    An empty `evictionHard` means no hard threshold, a missing one the defaults. An unknown version (empty) counts
    as the newest. Raises BadThreshold for what no kubelet would start with.
    """
    settings = config or KubeletConfiguration()
    by_signal = _configured(settings, default_hard(kubelet_version, windows=windows))
    by_signal |= _allocatable_memory(settings, by_signal)
    by_signal = _with_containerfs(settings, kubelet_version, layout, by_signal)
    return NodeThresholds(
        by_signal={signal: by_signal[signal] for signal in signals.SIGNALS if signal in by_signal},
        assumed=settings.eviction_hard is None,
    )


def default_hard(kubelet_version: str, *, windows: bool = False) -> dict[str, str]:
    """Return the hard thresholds of a kubelet without configured ones."""
    if windows:
        return {signals.MEMORY_AVAILABLE: "500Mi", signals.NODEFS_AVAILABLE: "10%", signals.IMAGEFS_AVAILABLE: "15%"}
    defaults = {
        signals.MEMORY_AVAILABLE: "100Mi",
        signals.NODEFS_AVAILABLE: "10%",
        signals.NODEFS_INODES_FREE: "5%",
        signals.IMAGEFS_AVAILABLE: "15%",
    }
    # absent in 1.28.0, present in 1.30.0; 1.29 was not read and counts as old
    if is_at_least(kubelet_version, 30):
        defaults[signals.IMAGEFS_INODES_FREE] = "5%"
    return defaults


def threshold_value(text: str, capacity: int) -> int:
    """Return a threshold or minimum reclaim in the signal's unit; a percentage is of `capacity`.

    A quantity between two integers is rounded up, which changes no comparison. Raises BadThreshold.
    """
    try:
        return percent_of(capacity, text) if text.endswith("%") else base_units(text)
    except InvalidQuantity as error:
        raise BadThreshold(str(error)) from error


def percent_of(capacity: int, text: str) -> int:
    """Return a percentage of a capacity, of which the kubelet keeps the fraction in 32 bits only
    (rules: eviction-thresholds).

    Raises InvalidQuantity for another text.
    """
    return int(float(capacity) * _fraction(text))


def _configured(settings: KubeletConfiguration, defaults: Mapping[str, str]) -> dict[str, SignalThresholds]:
    hard = _checked_thresholds(_merged(settings, defaults))
    soft = _checked_thresholds(settings.eviction_soft or {})
    grace = {
        signal: _grace_seconds(signal, text) for signal, text in (settings.eviction_soft_grace_period or {}).items()
    }
    reclaim = settings.eviction_minimum_reclaim or {}
    for signal, text in reclaim.items():
        amount = _amount(signal, text)
        if amount < 0 or (amount == 0 and text.endswith("%")):
            raise _bad(signal, f"a minimum reclaim of {text[:_SHOWN]!r} must be positive")
    for signal in soft:
        if signal not in grace:
            raise _bad(signal, "a soft threshold needs a period in evictionSoftGracePeriod")
    # without a grace period it acts like a hard threshold
    hard = {signal: text for signal, text in soft.items() if not grace[signal]} | hard
    soft = {signal: text for signal, text in soft.items() if grace[signal] or hard[signal] != text}
    return {
        signal: SignalThresholds(
            hard=hard.get(signal),
            soft=soft.get(signal),
            soft_grace_seconds=grace[signal] if signal in soft else None,
            minimum_reclaim=reclaim.get(signal),
        )
        for signal in hard.keys() | soft.keys()
    }


def _merged(settings: KubeletConfiguration, defaults: Mapping[str, str]) -> Mapping[str, str]:
    if settings.eviction_hard is None:
        return defaults
    if settings.merge_default_eviction_settings:
        return {**defaults, **settings.eviction_hard}
    return settings.eviction_hard


def _checked_thresholds(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the thresholds without those that mean "ignore"."""
    for signal, text in texts.items():
        amount = _amount(signal, text)
        if not (0 <= amount <= 1 if text.endswith("%") else amount > 0):
            raise _bad(signal, f"{text[:_SHOWN]!r} must be positive, or 0 to 100 percent")
    return {signal: text for signal, text in texts.items() if text not in _IGNORED}


def _amount(signal: str, text: str) -> float:
    """Return a percentage as its fraction, a quantity in base units."""
    if signal not in signals.CONDITIONS:
        raise _bad(signal, "no such signal")
    try:
        return _fraction(text) if text.endswith("%") else base_units(text)
    except InvalidQuantity as error:
        raise _bad(signal, str(error)) from error


def _grace_seconds(signal: str, text: str) -> float:
    if signal not in signals.CONDITIONS:
        raise _bad(signal, "no such signal")
    try:
        seconds = parse_duration(text or "nothing")
    except InvalidDuration as error:
        raise _bad(signal, str(error)) from error
    if seconds < 0:
        raise _bad(signal, f"grace period {text[:_SHOWN]!r} must not be negative")
    return seconds


def _bad(signal: str, problem: str) -> BadThreshold:
    return BadThreshold(f"eviction threshold of {signal[:_SHOWN]!r}: {problem}")


def _allocatable_memory(
    config: KubeletConfiguration, by_signal: Mapping[str, SignalThresholds]
) -> dict[str, SignalThresholds]:
    """Return the copy of the hard memory threshold for the pods' own cgroup."""
    memory = by_signal.get(signals.MEMORY_AVAILABLE)
    enforced = ["pods"] if config.enforce_node_allocatable is None else config.enforce_node_allocatable
    if memory is None or memory.hard is None or "pods" not in enforced:
        return {}
    copy = SignalThresholds(hard=memory.hard, minimum_reclaim=memory.minimum_reclaim)
    return {signals.ALLOCATABLE_MEMORY_AVAILABLE: copy}


def _with_containerfs(
    config: KubeletConfiguration, kubelet_version: str, layout: Layout, by_signal: Mapping[str, SignalThresholds]
) -> dict[str, SignalThresholds]:
    """Replace the user's containerfs thresholds: the kubelet uses those of the file system that contains it."""
    separate_disk_gc = (config.feature_gates or {}).get("KubeletSeparateDiskGC", is_at_least(kubelet_version, 31))
    on_imagefs = layout is Layout.SEPARATE_IMAGEFS
    sources = {
        signals.CONTAINERFS_AVAILABLE: signals.IMAGEFS_AVAILABLE if on_imagefs else signals.NODEFS_AVAILABLE,
        signals.CONTAINERFS_INODES_FREE: signals.IMAGEFS_INODES_FREE if on_imagefs else signals.NODEFS_INODES_FREE,
    }
    others = {signal: each for signal, each in by_signal.items() if signal not in sources}
    if not separate_disk_gc:
        return others
    return others | {signal: by_signal[source] for signal, source in sources.items() if source in by_signal}


def _fraction(text: str) -> float:
    """Return the fraction that the kubelet keeps of a percentage: text and hundredth, each rounded to 32 bits."""
    number = text.rstrip("%")
    if not text.endswith("%") or _PERCENT.fullmatch(number) is None:
        raise InvalidQuantity(text)
    return _float32(_float32(float(number), text) / 100, text)


def _float32(value: float, text: str) -> float:
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        raise InvalidQuantity(text) from None
    if isinf(rounded):
        raise InvalidQuantity(text)
    return float(rounded)


_SAME = 0.001
"""Tolerance for a threshold: file systems are resized, and a Node's capacity is slightly below its device's."""
_CAPACITY_OF = {
    MEMORY_AVAILABLE: "memory",
    NODEFS_AVAILABLE: "ephemeral-storage",
    IMAGEFS_AVAILABLE: "ephemeral-storage",  # if the runtime has no file system of its own
}


def capacities_of(node: Node) -> dict[str, int]:
    """Return the known capacity in bytes of each signal's resource, from the Node object."""
    capacity = node.status.capacity or {}
    found: dict[str, int] = {}
    for signal, resource in _CAPACITY_OF.items():
        try:
            found[signal] = base_units(capacity[resource])
        except (InvalidQuantity, KeyError):
            continue
    return found


def named_signal(
    resource: str, threshold: int | None, thresholds: Mapping[str, SignalThresholds], capacities: Mapping[str, int]
) -> str:
    """Return the signal of the resource with that threshold: exactly, else after a small change of capacity."""
    if threshold is None:
        return ""
    distances = {
        signal: min(abs(threshold_value(text, capacity) - threshold) for text in texts)
        for signal, capacity in capacities.items()
        if RESOURCES[signal] == resource and (texts := _texts(thresholds.get(signal)))
    }
    nearest = min(distances, key=distances.__getitem__, default="")
    return nearest if nearest and distances[nearest] <= abs(threshold) * _SAME else ""


def threshold_kind(
    signal: str, threshold: int | None, thresholds: Mapping[str, SignalThresholds], capacities: Mapping[str, int]
) -> str:
    """Return whether this is the signal's `hard` or `soft` threshold; empty if neither or unknown.

    A hard eviction gives its pods no grace period, a soft one at most `evictionMaxPodGracePeriod`.
    """
    of_signal = thresholds.get(signal)
    if threshold is None or of_signal is None:
        return ""
    kinds = [
        kind
        for kind, text in (("hard", of_signal.hard), ("soft", of_signal.soft))
        if text is not None
        and (signal in capacities or not text.endswith("%"))
        and abs(threshold_value(text, capacities.get(signal, 0)) - threshold) <= abs(threshold) * _SAME
    ]
    return kinds[0] if len(kinds) == 1 else ""


def _texts(thresholds: SignalThresholds | None) -> list[str]:
    return [text for text in (thresholds.hard, thresholds.soft) if text] if thresholds else []


def signal_by_node(
    resource: str,
    threshold: int | None,
    config: KubeletConfiguration | None,
    kubelet_version: str,
    capacities: Mapping[str, int],
) -> str:
    """Find the signal by the Node's capacities.

    With known settings, images are on a disk with another capacity than the node's.
    """
    if threshold is None or not capacities:
        return ""
    thresholds = effective_thresholds(config, kubelet_version)
    known = named_signal(resource, threshold, thresholds.by_signal, capacities)
    if known or thresholds.assumed or resource != "ephemeral-storage":
        return known
    is_guarded = {NODEFS_AVAILABLE, IMAGEFS_AVAILABLE} <= thresholds.by_signal.keys()
    return IMAGEFS_AVAILABLE if is_guarded and NODEFS_AVAILABLE in capacities else ""
