"""Computes allocatable from a kubelet's settings (rules: allocatable)."""

from collections.abc import Mapping
from typing import Final

from ingest.model.cpuset import parse_cpuset
from ingest.model.objects.kubelet import KubeletConfiguration
from streams.rules.eviction.signals import MEMORY_AVAILABLE, NODEFS_AVAILABLE
from streams.rules.eviction.thresholds import effective_thresholds, threshold_value
from streams.rules.values.quantity import in_base_units

_HUGEPAGES: Final = "hugepages-"
_MILLICORES: Final = 1000
_THRESHOLD_OF: Final = {"memory": MEMORY_AVAILABLE, "ephemeral-storage": NODEFS_AVAILABLE}


def reserved(config: KubeletConfiguration) -> dict[str, int]:
    """Return the non-zero reservations for system and kubelet, in base units, cpu in millicores. Raises BadValue.

    `reservedSystemCPUs` replaces the cpu in both.
    """
    system, kube = in_base_units(config.system_reserved), in_base_units(config.kube_reserved)
    both = {resource: system.get(resource, 0) + kube.get(resource, 0) for resource in (*system, *kube)}
    if config.reserved_system_cpus:
        both["cpu"] = _MILLICORES * len(parse_cpuset(config.reserved_system_cpus))
    return {resource: amount for resource, amount in both.items() if amount}


def hard_thresholds(config: KubeletConfiguration, version: str, capacity: Mapping[str, int]) -> dict[str, int]:
    """Return the memory and ephemeral storage that is kept back so that pods do not reach the threshold. Raises
    BadValue.
    """
    by_signal = effective_thresholds(config, version).by_signal
    return {
        resource: threshold_value(by_signal[signal].hard or "", capacity[resource])
        for resource, signal in _THRESHOLD_OF.items()
        if resource in capacity and signal in by_signal and by_signal[signal].hard is not None
    }


def allocatable(config: KubeletConfiguration, version: str, capacity: Mapping[str, int]) -> dict[str, int]:
    """Allocatable cpu, memory and ephemeral storage, of those that the capacity has. Raises BadValue."""
    kept, hard = reserved(config), hard_thresholds(config, version, capacity)
    left = {
        resource: max(0, capacity[resource] - kept.get(resource, 0) - hard.get(resource, 0))
        for resource in ("cpu", "memory", "ephemeral-storage")
        if resource in capacity
    }
    if "memory" in left:
        pages = sum(amount for resource, amount in capacity.items() if resource.startswith(_HUGEPAGES))
        left["memory"] = max(0, left["memory"] - pages)
    return left
