"""The NUMA map of a node: each NUMA node with its CPUs, by the container that holds them."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ingest.model.cpuset import InvalidCpuSet, parse_cpuset
from leadsman.web.reading.asked import RowDict

FREE: Final = "free"
RESERVED: Final = "reserved"
UNKNOWN: Final = "unknown"
"""Held, but no source reports by whom."""
COLOURS: Final = 8
"""Holders share this many colours; their marks distinguish them."""
MOST_CELLS: Final = 1024
"""A NUMA node of more CPUs is drawn as numbers only."""
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Holder(NamedTuple):
    """A container with exclusive CPUs; `colour` counts from 0."""

    mark: str
    """One or two letters that stand in its cells."""
    colour: int
    namespace: str
    pod: str
    container: str
    cpus: int
    cpuset: str
    numa_nodes: tuple[int, ...]
    spans: bool


class Cell(NamedTuple):
    """One CPU; `state` is free, reserved, unknown or held."""

    cpu: int
    state: str
    holder: Holder | None


class NumaNode(NamedTuple):
    """`cells` are empty if the source has no CPU ids; numbers are None if it does not report them."""

    number: int
    cores: tuple[tuple[Cell, ...], ...]
    """Its CPUs, those of a physical core together."""
    cpus: int | None
    reserved: int | None
    exclusive: int | None
    free: int | None
    free_cores: int | None


class NumaMap(NamedTuple):
    numa_nodes: tuple[NumaNode, ...]
    holders: tuple[Holder, ...]
    source: str
    fidelity: str
    assumed: tuple[str, ...]


def numa_map(allocations: Sequence[RowDict], pods: Sequence[RowDict]) -> NumaMap | None:
    """Build the map from one node's rows of `numa_nodes` and `numa_pods`; None if there are none."""
    if not allocations:
        return None
    holders = tuple(_holder(place, each) for place, each in enumerate(pods))
    by_cpu = {cpu: holder for holder in holders for cpu in _cpus(holder.cpuset)}
    first = allocations[0]
    return NumaMap(
        tuple(_numa_node(each, by_cpu) for each in allocations),
        holders,
        first["source"],
        first["fidelity"],
        tuple(first["assumed"]),
    )


def _holder(place: int, row: RowDict) -> Holder:
    return Holder(
        mark(place),
        place % COLOURS,
        row["namespace"],
        row["pod"],
        row["container"],
        row["cpus"],
        row["cpuset"],
        tuple(row["numa_nodes"]),
        spans=len(row["numa_nodes"]) > 1,
    )


def mark(place: int) -> str:
    """A, B, ... Z, AA, AB, ...: the mark of the holder in this place, counted from 0."""
    above, here = divmod(place, len(_LETTERS))
    return (mark(above - 1) if above else "") + _LETTERS[here]


def _numa_node(row: RowDict, by_cpu: Mapping[int, Holder]) -> NumaNode:
    cpus, free = _cpus(row["cpuset"]), set(_cpus(row["free_cpuset"]))
    if len(cpus) > MOST_CELLS:
        cpus = []
    held = sum(1 for cpu in cpus if cpu in by_cpu)
    missing = max(0, (row["exclusive_cpus"] or 0) - held)
    cells = {}
    for cpu in cpus:
        if cpu in by_cpu:
            cells[cpu] = Cell(cpu, "held", by_cpu[cpu])
        elif cpu in free:
            cells[cpu] = Cell(cpu, FREE, None)
        else:
            cells[cpu] = Cell(cpu, UNKNOWN if missing else RESERVED, None)
    return NumaNode(
        row["numa_node"],
        _cores(cells, row["core_cpusets"]),
        row["cpus"],
        row["reserved_cpus"],
        row["exclusive_cpus"],
        row["free_cpus"],
        row["free_cores"],
    )


def _cores(cells: Mapping[int, Cell], core_cpusets: Sequence[str]) -> tuple[tuple[Cell, ...], ...]:
    """Cells grouped by physical core; each CPU by itself where the cores are unknown."""
    cores = [[cells[cpu] for cpu in _cpus(text) if cpu in cells] for text in core_cpusets]
    known = {cell.cpu for core in cores for cell in core}
    alone = [[cell] for cpu, cell in cells.items() if cpu not in known]
    return tuple(
        tuple(core) for core in sorted((*cores, *alone), key=lambda core: core[0].cpu if core else -1) if core
    )


def _cpus(text: str) -> list[int]:
    try:
        return sorted(parse_cpuset(text)) if text else []
    except InvalidCpuSet:
        return []
