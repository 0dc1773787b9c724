"""Decides whether a container's resources are near its CPUs (rules: numa-alignment)."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from ingest.model.podresources import ContainerResources

LOCAL: Final = 10
"""The distance of a NUMA node to itself (ACPI's SLIT)."""


class Layout(NamedTuple):
    """The layout of a machine; unknown fields are empty."""

    numa_of: Mapping[int, int]
    """NUMA node of each CPU."""
    distances: Mapping[int, Mapping[int, int]]
    caches: Sequence[frozenset[int]]
    """The CPUs of each level 3 cache."""


class Alignment(NamedTuple):
    """The columns of `numa_alignment` about a container."""

    cpus: list[int]
    memory: list[int]
    hugepages: list[int]
    devices: list[int]
    stray: list[str]
    """Resources whose devices are not all on its CPUs' NUMA nodes, or whose place is unknown."""
    l3_caches: int | None
    aligned: bool | None
    distance: int | None
    explanation: str


def alignment(container: ContainerResources, layout: Layout, *, exclusive: bool) -> Alignment | None:
    """Judge a container; None if it holds nothing with a NUMA node. `exclusive`: its `cpu_ids` are its own."""
    ids = container.cpu_ids if exclusive else ()
    memory = _numa_nodes(each.numa_nodes for each in container.memory if each.memory_type == "memory")
    pages = _numa_nodes(each.numa_nodes for each in container.memory if each.memory_type != "memory")
    devices = _numa_nodes(each.numa_nodes for each in container.devices)
    if not (ids or memory or pages or container.devices):
        return None
    cpus = sorted({layout.numa_of[cpu] for cpu in ids if cpu in layout.numa_of})
    unknown = _unknown(container, ids, layout)
    around = {*cpus, *memory, *pages, *devices}
    stray = {
        each.resource_name
        for each in container.devices
        if not each.numa_nodes or (cpus and not {*each.numa_nodes} <= {*cpus})
    }
    distance = _farthest(cpus, around, layout.distances)
    held = [*_by_resource(container), ("memory", memory), ("huge pages", pages)]
    return Alignment(
        cpus,
        memory,
        pages,
        devices,
        sorted(stray),
        _caches(frozenset(ids), layout.caches),
        False if len(around) > 1 else None if unknown else True,
        distance,
        _apart(cpus, held, distance) if len(around) > 1 else unknown,
    )


def _by_resource(container: ContainerResources) -> list[tuple[str, list[int]]]:
    names = sorted({each.resource_name for each in container.devices})
    return [
        (name, _numa_nodes(each.numa_nodes for each in container.devices if each.resource_name == name))
        for name in names
    ]


def _apart(cpus: Sequence[int], held: Sequence[tuple[str, Sequence[int]]], distance: int | None) -> str:
    """Name the CPUs' NUMA nodes, and what has others; without exclusive CPUs, the NUMA nodes of all it holds."""
    places = [("CPUs", cpus), *((what, nodes) for what, nodes in held if not {*nodes} <= {*cpus})]
    found = [
        f"{what} on NUMA node{'s' if len(nodes) > 1 else ''} {', '.join(map(str, nodes))}"
        for what, nodes in places
        if nodes
    ]
    return f"{', '.join(found)}{f' ({_distance(distance)})' if cpus else ''}"


def _distance(farthest: int | None) -> str:
    if farthest is None:
        return "the firmware's distance is unknown"
    if farthest <= LOCAL:
        return f"the firmware gives distance {farthest}, as if it were local"
    return f"distance {farthest}, where {LOCAL} is local"


def _unknown(container: ContainerResources, ids: Sequence[int], layout: Layout) -> str:
    if not ids:
        return "it shares its CPUs with others: they can be on any NUMA node"
    if any(cpu not in layout.numa_of for cpu in ids):
        return "no agent reports the NUMA nodes of its CPUs"
    silent = sorted({each.resource_name for each in container.devices if not each.numa_nodes})
    return f"the device plugin does not report the NUMA nodes of {', '.join(silent)}" if silent else ""


def _numa_nodes(devices: Iterable[Sequence[int]]) -> list[int]:
    return sorted({numa for each in devices for numa in each})


def _caches(cpus: frozenset[int], caches: Sequence[frozenset[int]]) -> int | None:
    if not cpus or not cpus <= frozenset[int]().union(*caches):
        return None
    return sum(bool(each & cpus) for each in caches)


def _farthest(
    cpus: Sequence[int], around: AbstractSet[int], distances: Mapping[int, Mapping[int, int]]
) -> int | None:
    found = [distances.get(cpu, {}).get(other) for cpu in cpus for other in around]
    known = [each for each in found if each is not None]
    return max(known) if known and len(known) == len(found) else None
