"""The cgroups of pods, and how often their CPU quota held them back (rules: cpu-contention)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ingest.node.sysfs import CannotReadError, read_file

_POD: Final = re.compile(
    r"(?:kubepods-(?:burstable-|besteffort-)?)?pod([0-9a-f]{8}[-_][0-9a-f_-]{20,40}|[0-9a-f]{32})(?:\.slice)?"
)
"""Cgroup of a pod by either cgroup driver. A static pod has the hash of its file instead of a uid."""
_CONTAINER: Final = re.compile(r"(?:cri-)?(?:[a-z]+-)?([0-9a-f]{64})(?:\.scope)?")
"""Cgroup of a container of containerd, CRI-O and Docker, by either cgroup driver."""
_CPU: Final = ("", "cpu", "cpu,cpuacct")
"""Folders with the files of CPU: in version 2, and in the hierarchies of version 1."""
_COUNTER: Final = re.compile(r"^(nr_periods|nr_throttled|throttled_usec|throttled_time) ([0-9]{1,19})$", re.MULTILINE)


def pod_cgroups(hierarchy: Path) -> list[tuple[str, Path]]:
    """The uid and the folder of each pod, by folder."""
    return sorted(_pod_cgroups(hierarchy), key=lambda each: each[1])


def read_cpu_throttling(root: Path) -> dict[str, Any] | None:
    """The counters of each pod, and of those containers that had a period; None if the machine has no pods.

    A pod without counters is left out: it ended, or its kernel does not count.
    """
    found = (pod_cgroups(root / "sys/fs/cgroup" / each) for each in _CPU)
    pods = next((each for each in found if each), [])
    if not pods:
        return None
    read = [{"uid": uid, "cgroups": [*_throttling(folder)]} for uid, folder in pods]
    return {"cpu_throttling": [pod for pod in read if pod["cgroups"]]}


def _pod_cgroups(hierarchy: Path) -> Iterator[tuple[str, Path]]:
    for top in ("kubepods.slice", "kubepods"):
        for group in ("", "kubepods-burstable.slice", "kubepods-besteffort.slice", "burstable", "besteffort"):
            for name, folder in _folders(hierarchy / top / group, _POD):
                yield name.replace("_", "-"), folder


def _throttling(pod: Path) -> Iterator[dict[str, Any]]:
    """The pod's own first."""
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
