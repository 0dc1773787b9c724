"""Finds the signal that an eviction's message names, by its threshold in bytes (rules: eviction-thresholds).

A percentage is of the capacity of the signal's file system, with the kubelet's 32 bits. So 15 % and 10 % of one disk
are different numbers, and so are those of two disks.
"""

from collections.abc import Mapping

from ingest.model.objects.kubelet import KubeletConfiguration
from ingest.model.objects.node import Node
from streams.rules.eviction.signals import IMAGEFS_AVAILABLE, MEMORY_AVAILABLE, NODEFS_AVAILABLE, RESOURCES
from streams.rules.eviction.thresholds import SignalThresholds, effective_thresholds, threshold_value
from streams.rules.values.quantity import InvalidQuantity, base_units

_SAME = 0.001
"""Tolerance of a threshold: file systems are resized, and a Node's capacity is slightly below that of the mounted
device.
"""
_CAPACITY_OF = {
    MEMORY_AVAILABLE: "memory",
    NODEFS_AVAILABLE: "ephemeral-storage",
    IMAGEFS_AVAILABLE: "ephemeral-storage",  # where the runtime has no file system of its own
}


def capacities_of(node: Node) -> dict[str, int]:
    """The capacity in bytes that a Node itself has of each signal's resource, as far as it is known."""
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
    """The signal of the resource whose threshold that is: exactly, else of a capacity that has changed a little."""
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
    """Return which threshold of the signal that is, `hard` or `soft`; empty if it is neither, or not known.

    A hard eviction gives its pods no grace, a soft one at most `evictionMaxPodGracePeriod`.
    """
    of_signal = thresholds.get(signal)
    if threshold is None or of_signal is None:
        return ""
    for kind, text in (("hard", of_signal.hard), ("soft", of_signal.soft)):
        if text is None or (text.endswith("%") and signal not in capacities):
            continue
        if abs(threshold_value(text, capacities.get(signal, 0)) - threshold) <= abs(threshold) * _SAME:
            return kind
    return ""


def _texts(thresholds: SignalThresholds | None) -> list[str]:
    return [text for text in (thresholds.hard, thresholds.soft) if text] if thresholds else []


def signal_by_node(
    resource: str,
    threshold: int | None,
    config: KubeletConfiguration | None,
    kubelet_version: str,
    capacities: Mapping[str, int],
) -> str:
    """Find the signal by the capacities of the Node. With known settings a disk other than the node's can only be
    the images'.
    """
    if threshold is None or not capacities:
        return ""
    thresholds = effective_thresholds(config, kubelet_version)
    known = named_signal(resource, threshold, thresholds.by_signal, capacities)
    if known or thresholds.assumed or resource != "ephemeral-storage":
        return known
    is_guarded = {NODEFS_AVAILABLE, IMAGEFS_AVAILABLE} <= thresholds.by_signal.keys()
    return IMAGEFS_AVAILABLE if is_guarded and NODEFS_AVAILABLE in capacities else ""
