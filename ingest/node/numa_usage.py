"""Use of each NUMA node of the machine, and where the memory of each pod lies (rules: numa-usage)."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ingest.node.cgroups import pod_cgroups
from ingest.node.sysfs import CannotReadError, ids_in, is_there, read_cpu_topology, read_file

_MEMORY: Final = re.compile(r"(MemTotal|MemFree|HugePages_Total|HugePages_Free): +([0-9]{1,15})")
_HUGE: Final = re.compile(r"hugepages-([0-9]{1,9})kB")
_OF_NODE: Final = re.compile(r" N([0-9]{1,6})=([0-9]{1,19})")
_COUNTED: Final = frozenset({"anon", "file"})
_CPU: Final = re.compile(r"^cpu([0-9]{1,6}) ([0-9 ]+)$", re.MULTILINE)
_IDLE: Final = slice(3, 5)
"""Columns of /proc/stat for idle and iowait."""
_KINDS: Final = 8
"""Columns before guest, which is counted in user."""


class NumaUsage:
    """Samples of the machine below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._ticks: dict[int, tuple[int, int]] = {}

    def __call__(self) -> dict[str, Any] | None:
        """None if the machine has no NUMA nodes. Raises CannotReadError."""
        folder = self._root / "sys/devices/system/node"
        numa_nodes = ids_in(folder, "node")
        if not any(is_there(folder / f"node{numa}" / "meminfo") for numa in numa_nodes):
            return None
        busy = self._busy()
        nodes = [
            {"numa_node": numa, **_memory(folder / f"node{numa}"), "cpu_busy_ratio": busy.get(numa)}
            for numa in numa_nodes
        ]
        return {"numa_usage": nodes, "pods": [*_pods(self._root / "sys/fs/cgroup")]}

    def _busy(self) -> Mapping[int, float]:
        """Return the busy ratio of each NUMA node since the sample before; empty at the first."""
        stat = self._root / "proc/stat"
        if not is_there(stat):
            return {}
        numa_of = {each.cpu: each.numa for each in read_cpu_topology(self._root)}
        ticks: dict[int, tuple[int, int]] = {}
        for cpu, text in _CPU.findall(read_file(stat)):
            counts = [int(each) for each in text.split()][:_KINDS]
            if int(cpu) in numa_of:
                total, idle = ticks.get(numa_of[int(cpu)], (0, 0))
                ticks[numa_of[int(cpu)]] = (total + sum(counts), idle + sum(counts[_IDLE]))
        before, self._ticks = self._ticks, ticks
        return {
            numa: 1 - (idle - before[numa][1]) / (total - before[numa][0])
            for numa, (total, idle) in ticks.items()
            if numa in before and total > before[numa][0] and idle >= before[numa][1]
        }


def _memory(folder: Path) -> dict[str, int]:
    amounts = {name: int(amount) for name, amount in _MEMORY.findall(read_file(folder / "meminfo"))}
    if not {"MemTotal", "MemFree"} <= amounts.keys():
        raise CannotReadError(f"{folder}: its meminfo has no amounts")
    huge = [(kilobytes, folder / "hugepages" / f"hugepages-{kilobytes}kB") for kilobytes in _sizes(folder)]
    return {
        "memory_total_bytes": amounts["MemTotal"] << 10,
        "memory_free_bytes": amounts["MemFree"] << 10,
        "hugepages_total_bytes": sum(size * _count(pages / "nr_hugepages") << 10 for size, pages in huge),
        "hugepages_free_bytes": sum(size * _count(pages / "free_hugepages") << 10 for size, pages in huge),
    }


def _sizes(folder: Path) -> list[int]:
    pages = folder / "hugepages"
    found = [_HUGE.fullmatch(each.name) for each in pages.iterdir()] if is_there(pages) else []
    return sorted(int(each[1]) for each in found if each)


def _count(path: Path) -> int:
    text = read_file(path).strip()
    if not text.isdecimal():
        raise CannotReadError(f"{path}: is not a number of pages")
    return int(text)


def _pods(root: Path) -> Iterator[dict[str, Any]]:
    """Yield the memory of cgroups v2, by uid; a pod that ends while it is read is left out."""
    for uid, path in pod_cgroups(root):
        try:
            text = read_file(path / "memory.numa_stat")
        except CannotReadError:
            continue
        bytes_of: dict[int, int] = {}
        for line in text.splitlines():
            kind, _, rest = line.partition(" ")
            for numa, amount in _OF_NODE.findall(f" {rest}") if kind in _COUNTED else ():
                bytes_of[int(numa)] = bytes_of.get(int(numa), 0) + int(amount)
        if bytes_of:
            yield {"uid": uid, "numa_bytes": bytes_of}
