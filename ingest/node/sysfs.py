"""Reads the node's files: the machine's CPUs as sysfs lists them (rules: cpu-topology)."""

import re
from pathlib import Path
from typing import Final

from common.amounts import counted
from common.text import plain
from ingest.model.cpuset import InvalidCpuSet, format_cpuset, parse_cpuset
from ingest.model.machine import Cpu

LIMIT_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of a file, far more than the checkpoints of a node with 500 pods."""


class CannotReadError(ValueError):
    """A file or value of the machine cannot be read now; the message names it and the reason."""


def is_there(path: Path) -> bool:
    """Tell whether a file, folder or socket exists; raises CannotReadError if that cannot be determined."""
    try:
        return path.exists()
    except OSError as error:
        raise CannotReadError(f"{plain(path)}: {plain(error.strerror)}") from None


def read_file(path: Path) -> str:
    """Return the text of a file. Raises CannotReadError, also for more than 4 MiB and for invalid UTF-8."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError:
        raise CannotReadError(f"{plain(path)}: the text is not UTF-8") from None


def read_bytes(path: Path) -> bytes:
    """Return the content of a file. Raises CannotReadError, also for more than 4 MiB."""
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT_BYTES + 1)
    except FileNotFoundError:
        raise CannotReadError(f"{plain(path)}: missing; is the machine's folder mounted?") from None
    except OSError as error:
        raise CannotReadError(f"{plain(path)}: {plain(error.strerror)}") from None
    if len(data) > LIMIT_BYTES:
        raise CannotReadError(f"{plain(path)}: is longer than {LIMIT_BYTES >> 20} MiB")
    return data


_ID: Final = re.compile(r"-?[0-9]{1,9}")


def read_cpu_topology(root: Path) -> list[Cpu]:
    """Return the online CPUs of the machine whose `/sys` is under `root`, by id.

    `core` is the kernel's `core_id`, which is unique only within a package. A machine without NUMA has one NUMA node
    for each package, as in the kubelet (cadvisor utils/sysinfo). Raises CannotReadError, also if an online CPU is in
    no NUMA node or in two.
    """
    cpu_folder = root / "sys/devices/system/cpu"
    online = _online(cpu_folder)
    numa_of = _numa_nodes(root / "sys/devices/system/node", online)
    cpus = []
    for cpu in sorted(online):
        topology = cpu_folder / f"cpu{cpu}" / "topology"
        # the kernel reports -1 if the firmware names no package
        socket = max(_id(topology / "physical_package_id"), 0)
        if numa_of and cpu not in numa_of:
            raise CannotReadError(f"{plain(cpu_folder)}: CPU {cpu} is online and in no NUMA node")
        cpus.append(Cpu(cpu=cpu, core=_id(topology / "core_id"), socket=socket, numa=numa_of.get(cpu, socket)))
    return cpus


def read_distances(root: Path) -> dict[int, dict[int, int]]:
    """Read each NUMA node's distances to the others from the firmware (SLIT; 10 is local); empty if there is none."""
    folder = root / "sys/devices/system/node"
    numa_nodes = ids_in(folder, "node")
    distances = {}
    for numa in numa_nodes:
        path = folder / f"node{numa}" / "distance"
        if not is_there(path):
            return {}
        row = [int(text) for text in read_file(path).split() if text.isdecimal()]
        if len(row) != len(numa_nodes):
            raise CannotReadError(
                f"{plain(path)}: has {counted(len(row), 'distance')} to {counted(len(numa_nodes), 'NUMA node')}"
            )
        distances[numa] = dict(zip(numa_nodes, row, strict=True))
    return distances


def read_caches(root: Path) -> list[str]:
    """Return the CPUs that share each level 3 cache, as CPU lists; empty if the kernel shows none."""
    folder = root / "sys/devices/system/cpu"
    found = set[str]()
    for cpu in ids_in(folder, "cpu"):
        for index in ids_in(folder / f"cpu{cpu}" / "cache", "index"):
            cache = folder / f"cpu{cpu}" / "cache" / f"index{index}"
            if is_there(cache / "level") and read_file(cache / "level").strip() == "3":
                found.add(format_cpuset(_cpu_list(cache / "shared_cpu_list")))
    return sorted(found, key=lambda text: min(parse_cpuset(text), default=0))


def ids_in(folder: Path, name: str) -> list[int]:
    """Return the ids of the entries `<name><id>`, sorted; none without such a folder."""
    try:
        found = [re.fullmatch(rf"{name}([0-9]{{1,6}})", entry.name) for entry in folder.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CannotReadError(f"{plain(folder)}: {plain(error.strerror)}") from None
    return sorted(int(match[1]) for match in found if match)


def _online(folder: Path) -> frozenset[int]:
    """Return the kernel's list of online CPUs; all CPUs if it has no list, because no CPU can be offlined."""
    listed = folder / "online"
    cpus = _cpu_list(listed) if is_there(listed) else frozenset(ids_in(folder, "cpu"))
    if not cpus:
        raise CannotReadError(f"{plain(folder)}: no CPU is online; is the host's /sys mounted there?")
    return cpus


def _numa_nodes(folder: Path, online: frozenset[int]) -> dict[int, int]:
    """Return the NUMA node of each online CPU; empty if the kernel has no NUMA."""
    numa_of: dict[int, int] = {}
    for numa in ids_in(folder, "node"):
        for cpu in _cpu_list(folder / f"node{numa}" / "cpulist") & online:
            if cpu in numa_of:
                raise CannotReadError(f"{plain(folder)}: CPU {cpu} is in NUMA nodes {numa_of[cpu]} and {numa}")
            numa_of[cpu] = numa
    return numa_of


def _cpu_list(path: Path) -> frozenset[int]:
    try:
        return parse_cpuset(read_file(path))
    except InvalidCpuSet as error:
        raise CannotReadError(f"{plain(path)}: {plain(error)}") from None


def _id(path: Path) -> int:
    text = read_file(path).strip()
    if not _ID.fullmatch(text):
        raise CannotReadError(f"{plain(path)}: {plain(text, 40)!r} is not an id")
    return int(text)
