"""Use of each NUMA node of the machine, and where the memory of each pod lies (rules: numa-usage)."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from common.clock import SYSTEM, Clock
from ingest.node.host import CannotReadError, is_there, read_file
from ingest.node.sysfs import ids_in, read_cpu_topology

SECONDS: Final = 60.0
"""Between two samples."""
_MEMORY: Final = re.compile(r"(MemTotal|MemFree|HugePages_Total|HugePages_Free): +([0-9]{1,15})")
_HUGE: Final = re.compile(r"hugepages-([0-9]{1,9})kB")
_POD: Final = re.compile(
    r"(?:kubepods-(?:burstable-|besteffort-)?)?pod([0-9a-f]{8}[-_][0-9a-f_-]{20,40})(?:\.slice)?"
)
_OF_NODE: Final = re.compile(r" N([0-9]{1,6})=([0-9]{1,19})")
_COUNTED: Final = frozenset({"anon", "file"})
_CPU: Final = re.compile(r"^cpu([0-9]{1,6}) ([0-9 ]+)$", re.MULTILINE)
_IDLE: Final = slice(3, 5)
"""Of the columns of /proc/stat: idle and iowait."""
_KINDS: Final = 8
"""Columns before guest, which is counted in user."""


class NumaUsage:
    """A sample of the machine below `root`, and the same one until a minute later."""

    def __init__(self, root: Path, clock: Clock = SYSTEM) -> None:
        self._root = root
        self._clock = clock
        self._sampled_at: float | None = None
        self._sample: dict[str, Any] | None = None
        self._ticks: dict[int, tuple[int, int]] = {}

    def __call__(self) -> dict[str, Any] | None:
        """None where the machine has no NUMA nodes. Raises CannotReadError."""
        now = self._clock.monotonic()
        if self._sampled_at is None or now - self._sampled_at >= SECONDS:
            self._sample, self._sampled_at = self._sampled(), now
        return self._sample

    def _sampled(self) -> dict[str, Any] | None:
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
        """Of each NUMA node since the sample before; empty at the first."""
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
        raise CannotReadError(f"{path}: is no number of pages")
    return int(text)


def _pods(root: Path) -> Iterator[dict[str, Any]]:
    """Of cgroups v2, by uid; a pod that ends while it is read is left out."""
    for path in sorted(_pod_folders(root)):
        named = _POD.fullmatch(path.name)
        try:
            text = read_file(path / "memory.numa_stat")
        except CannotReadError:
            continue
        bytes_of: dict[int, int] = {}
        for line in text.splitlines():
            kind, _, rest = line.partition(" ")
            for numa, amount in _OF_NODE.findall(f" {rest}") if kind in _COUNTED else ():
                bytes_of[int(numa)] = bytes_of.get(int(numa), 0) + int(amount)
        if named is not None and bytes_of:
            yield {"uid": named[1].replace("_", "-"), "numa_bytes": bytes_of}


def _pod_folders(root: Path) -> Iterator[Path]:
    for top in ("kubepods.slice", "kubepods"):
        for group in ("", "kubepods-burstable.slice", "kubepods-besteffort.slice", "burstable", "besteffort"):
            folder = root / top / group
            try:
                yield from (each for each in folder.iterdir() if _POD.fullmatch(each.name))
            except OSError:
                continue
