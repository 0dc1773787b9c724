"""What a node offers to pods, and percentages as the kubelet computes them (rules: allocatable,
eviction-thresholds).
"""

import re
import struct
from collections.abc import Mapping
from typing import Final

from ingest.model.cpuset import parse_cpuset
from streams.rules.values.quantity import NANO, InvalidQuantity, base_units, nano_units

_NANO_PER_UNIT: Final = {"cpu": NANO // 1000}
"""Capacity of cpu is in millicores."""
_HARD_EVICTION: Final = {"memory": "memory.available", "ephemeral-storage": "nodefs.available"}
_PERCENT: Final = re.compile(r"[+-]?(?:[0-9]{1,32}(?:\.[0-9]{0,32})?|\.[0-9]{1,32})(?:[eE][+-]?[0-9]{1,3})?%")


def allocatable(
    capacity: Mapping[str, int],
    system_reserved: Mapping[str, str],
    kube_reserved: Mapping[str, str],
    eviction_hard: Mapping[str, str],
) -> dict[str, int]:
    """Return capacity less reservations, hard eviction thresholds and huge pages, never below zero.

    Capacity and result are in base units, cpu in millicores; thresholds are by signal, as a quantity or percent.
    Where the kubelet has `reservedSystemCPUs`, apply `with_reserved_cpus` first. Raises InvalidQuantity.
    """
    left = {
        name: max(0, total - _reserved(name, system_reserved, kube_reserved) - _withheld(name, total, eviction_hard))
        for name, total in capacity.items()
    }
    huge_pages = sum(total for name, total in capacity.items() if name.startswith("hugepages-"))
    if "memory" in left:
        left["memory"] = max(0, left["memory"] - huge_pages)
    return left


def with_reserved_cpus(
    system_reserved: Mapping[str, str], kube_reserved: Mapping[str, str], reserved_system_cpus: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the system and kube reservations with `reservedSystemCPUs`, a CPU list, in place of their cpu.

    Raises `cpuset.InvalidCpuSet`.
    """
    cpus = parse_cpuset(reserved_system_cpus)
    if not cpus:
        return dict(system_reserved), dict(kube_reserved)
    kube_without_cpu = {name: text for name, text in kube_reserved.items() if name != "cpu"}
    return {**system_reserved, "cpu": str(len(cpus))}, kube_without_cpu


def percent_of(capacity: int, text: str) -> int:
    """Return a percentage of a capacity, of which the kubelet keeps the fraction in 32 bits only
    (rules: eviction-thresholds).

    Raises InvalidQuantity for what is no percentage of 0 to 100.
    """
    if _PERCENT.fullmatch(text) is None:
        raise InvalidQuantity(text)
    percent = _float32(float(text[:-1]), text)
    if not 0 <= percent <= 100:  # noqa: PLR2004 - a percentage
        raise InvalidQuantity(text)
    return int(float(capacity) * _float32(percent / 100, text))


def _reserved(name: str, *reservations: Mapping[str, str]) -> int:
    nanos = sum(nano_units(each[name]) for each in reservations if name in each)
    # What is left is rounded up, so what is taken is rounded down.
    return nanos // _NANO_PER_UNIT.get(name, NANO)


def _withheld(name: str, capacity: int, eviction_hard: Mapping[str, str]) -> int:
    text = eviction_hard.get(_HARD_EVICTION.get(name, ""))
    # the kubelet takes it as no threshold at all (rules: eviction-thresholds), like 0%
    if text is None or text == "100%":
        return 0
    return percent_of(capacity, text) if text.endswith("%") else base_units(text)


def _float32(value: float, text: str) -> float:
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        raise InvalidQuantity(text) from None
    return float(rounded)
