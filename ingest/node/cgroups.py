"""Reads cgroups of pods: their values and throttling, and the use of NUMA nodes (rules: cgroup-values,
cpu-contention, numa-usage).
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ingest.node.sysfs import CannotReadError, ids_in, is_there, read_cpu_topology, read_file

_POD: Final = re.compile(
    r"(?:kubepods-(?:burstable-|besteffort-)?)?pod([0-9a-f]{8}[-_][0-9a-f_-]{20,40}|[0-9a-f]{32})(?:\.slice)?"
)
"""Cgroup of a pod by either cgroup driver. A static pod has the hash of its file instead of a uid."""
_CONTAINER: Final = re.compile(r"(?:cri-)?(?:[a-z]+-)?([0-9a-f]{64})(?:\.scope)?")
"""Cgroup of a container of containerd, CRI-O and Docker, by either cgroup driver."""
_CPU: Final = ("", "cpu", "cpu,cpuacct")
"""Folders with the CPU files: of version 2, and of version 1's hierarchies."""
_COUNTER: Final = re.compile(r"^(nr_periods|nr_throttled|throttled_usec|throttled_time) ([0-9]{1,19})$", re.MULTILINE)
NO_LIMIT: Final = -1
_UNLIMITED: Final = 1 << 62
"""The value that version 1 writes for unlimited: the largest multiple of a page that an integer holds."""
_VALUE: Final = re.compile(r"max|-1|[0-9]{1,19}")
_VALUES: Final = {
    "cpu.shares": ("cpu_shares",),
    "cpu.weight": ("cpu_weight",),
    "cpu.cfs_quota_us": ("cpu_quota_microseconds",),
    "cpu.cfs_period_us": ("cpu_period_microseconds",),
    "cpu.max": ("cpu_quota_microseconds", "cpu_period_microseconds"),
    "memory.limit_in_bytes": ("memory_limit_bytes",),
    "memory.max": ("memory_limit_bytes",),
}
"""Files of both versions, with the meaning of their words."""


def pod_cgroups(hierarchy: Path) -> list[tuple[str, Path]]:
    """Return the uid and the folder of each pod, by folder."""
    return sorted(_pod_cgroups(hierarchy), key=lambda each: each[1])


def read_cpu_throttling(root: Path) -> dict[str, Any] | None:
    """Return the counters of each pod, and of its containers with a period; None if the machine has no pods.

    Pods without counters are left out: they ended, or their kernel does not count.
    """
    found = (pod_cgroups(root / "sys/fs/cgroup" / each) for each in _CPU)
    pods = next((each for each in found if each), [])
    if not pods:
        return None
    read = [{"uid": uid, "cgroups": [*_throttling(folder)]} for uid, folder in pods]
    return {"cpu_throttling": [pod for pod in read if pod["cgroups"]]}


def read_cgroup_values(root: Path) -> dict[str, Any] | None:
    """Return the path and values of each pod's and container's cgroup; None if the machine has no pods.

    A path is relative to the hierarchy's root. In version 1 the paths of CPU and memory are the same.
    """
    found = dict[str, dict[str, Any]]()
    for hierarchy in (*_CPU, "memory"):
        top = root / "sys/fs/cgroup" / hierarchy
        for uid, pod in pod_cgroups(top):
            for container, folder in [("", pod), *_folders(pod, _CONTAINER)]:
                path = f"/{folder.relative_to(top)}"
                found.setdefault(path, {"uid": uid, "container": container, "path": path}).update(_values(folder))
    return {"cgroup_values": [values for _, values in sorted(found.items())]} if found else None


def _values(folder: Path) -> Iterator[tuple[str, int]]:
    for file, names in _VALUES.items():
        if words := _words(folder / file):
            numbers = (NO_LIMIT if word == "max" or int(word) >= _UNLIMITED else int(word) for word in words)
            yield from zip(names, numbers, strict=False)


def _words(path: Path) -> list[str]:
    """Read a file; empty if it does not exist, or if the cgroup is gone."""
    try:
        words = read_file(path).split()
    except CannotReadError:
        return []
    return words if all(map(_VALUE.fullmatch, words)) else []


def _pod_cgroups(hierarchy: Path) -> Iterator[tuple[str, Path]]:
    for top in ("kubepods.slice", "kubepods"):
        for group in ("", "kubepods-burstable.slice", "kubepods-besteffort.slice", "burstable", "besteffort"):
            for name, folder in _folders(hierarchy / top / group, _POD):
                yield name.replace("_", "-"), folder


def _throttling(pod: Path) -> Iterator[dict[str, Any]]:
    """Yield the throttling, the pod's own first."""
    own = _counters(pod)
    if own is None:
        return
    yield {"container": "", **own}
    for container, folder in sorted(_folders(pod, _CONTAINER)):
        counters = _counters(folder)
        if counters and counters["periods"]:
            yield {"container": container, **counters}


def _counters(folder: Path) -> dict[str, int] | None:
    try:
        counted = {name: int(count) for name, count in _COUNTER.findall(read_file(folder / "cpu.stat"))}
    except CannotReadError:
        return None
    if not {"nr_periods", "nr_throttled"} <= counted.keys():
        return None
    return {
        "periods": counted["nr_periods"],
        "throttled_periods": counted["nr_throttled"],
        "throttled_nanoseconds": counted.get("throttled_time", counted.get("throttled_usec", 0) * 1000),
    }


def _folders(parent: Path, pattern: re.Pattern[str]) -> Iterator[tuple[str, Path]]:
    try:
        found = [(pattern.fullmatch(each.name), each) for each in parent.iterdir()]
    except OSError:
        return
    yield from ((named[1], each) for named, each in found if named)


_MEMORY: Final = re.compile(r"(MemTotal|MemFree|HugePages_Total|HugePages_Free): +([0-9]{1,15})")
_HUGE: Final = re.compile(r"hugepages-([0-9]{1,9})kB")
_OF_NODE: Final = re.compile(r" N([0-9]{1,6})=([0-9]{1,19})")
_COUNTED: Final = frozenset({"anon", "file"})
_CPU_TICKS: Final = re.compile(r"^cpu([0-9]{1,6}) ([0-9 ]+)$", re.MULTILINE)
_IDLE: Final = slice(3, 5)
"""Columns of /proc/stat for idle and iowait."""
_KINDS: Final = 8
"""Number of columns before guest, which is already counted in user."""


class NumaUsage:
    """Samples the use of NUMA nodes of the machine below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._ticks: dict[int, tuple[int, int]] = {}

    def __call__(self) -> dict[str, Any] | None:
        """Return None if the machine has no NUMA nodes. Raises CannotReadError."""
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
        """Return the busy ratio of each NUMA node since the previous sample; empty for the first one."""
        stat = self._root / "proc/stat"
        if not is_there(stat):
            return {}
        numa_of = {each.cpu: each.numa for each in read_cpu_topology(self._root)}
        ticks: dict[int, tuple[int, int]] = {}
        for cpu, text in _CPU_TICKS.findall(read_file(stat)):
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
    """Yield the memory of cgroups v2, by uid; pods that end while being read are left out."""
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
