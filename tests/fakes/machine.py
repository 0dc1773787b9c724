"""A folder that stands in for a machine: its `/sys` and its `/var/lib/kubelet`."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Thread(NamedTuple):
    """A CPU as the kernel numbers it."""

    cpu: int
    core: int
    socket: int
    numa: int


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def cpu_list(cpus: Iterable[int]) -> str:
    """A list as sysfs writes it for CPUs that are no neighbours; valid, though not shortest, for all others."""
    return ",".join(map(str, sorted(cpus))) + "\n"


def write_sysfs(
    root: Path, threads: Iterable[Thread], *, offline: Iterable[Thread] = (), cpuless: Iterable[int] = ()
) -> None:
    """`/sys` of a machine; of an offline CPU the kernel shows no topology, and no NUMA node lists it."""
    cpus, nodes = root / "sys/devices/system/cpu", root / "sys/devices/system/node"
    by_numa: defaultdict[int, list[int]] = defaultdict(list, {numa: [] for numa in cpuless})
    for thread in threads:
        by_numa[thread.numa].append(thread.cpu)
        write(cpus / f"cpu{thread.cpu}/topology/core_id", f"{thread.core}\n")
        write(cpus / f"cpu{thread.cpu}/topology/physical_package_id", f"{thread.socket}\n")
    write(cpus / "online", cpu_list(cpu for cpus_of in by_numa.values() for cpu in cpus_of))
    for thread in offline:
        write(cpus / f"cpu{thread.cpu}/online", "0\n")
    (cpus / "cpufreq").mkdir()
    for numa, cpus_of in by_numa.items():
        write(nodes / f"node{numa}/cpulist", cpu_list(cpus_of))
    write(nodes / "online", cpu_list(by_numa))


def write_checkpoints(root: Path, cpu: str, memory: str) -> None:
    write(root / "var/lib/kubelet/cpu_manager_state", cpu)
    write(root / "var/lib/kubelet/memory_manager_state", memory)
