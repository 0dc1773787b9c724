"""What is left of a machine when its kubelet admitted containers (rules: cpu-checkpoint, memory-checkpoint,
exclusive-cpus).
"""

from collections.abc import Iterable, Mapping

from streams.rules.numa.hints import Affinity, memory_hints, merge
from streams.rules.numa.memory_checkpoint import MemoryNode
from streams.rules.numa.topology_manager import Devices, Machine, Request


def consume(
    machine: Machine, containers: Iterable[Request], cpus: frozenset[int], affinity: Affinity | None
) -> Machine:
    """The machine without these CPUs, and without the memory and devices that the containers ask for.

    `affinity` is that of the merged hint, None where any NUMA node will do. The caller has checked that enough of
    each is there. Which devices and pages are taken where the affinity's do not suffice is the lowest NUMA nodes'.
    """
    memory, devices = dict(machine.memory), dict(machine.devices)
    for container in containers:
        wanted = {kind: size for kind, size in container.memory_bytes.items() if size > 0}
        if memory and wanted:
            # Without an affinity the memory manager takes the best hint of its own.
            group = affinity or merge(memory, [memory_hints(memory, wanted)]).affinity or frozenset(memory)
            memory = _pinned(memory, group & memory.keys(), wanted)
        for name in container.devices.keys() & devices.keys():
            have = devices[name]
            devices[name] = Devices(
                have.total, _taken(have.available, container.devices[name], affinity or frozenset())
            )
    return machine._replace(free=machine.free - cpus, memory=memory, devices=devices)


def _taken(available: Mapping[int, int], count: int, affinity: Affinity) -> dict[int, int]:
    left = dict(available)
    for numa in sorted(left, key=lambda numa: (numa not in affinity, numa)):
        part = min(count, left[numa])
        left[numa] -= part
        count -= part
    return left


def _pinned(memory: Mapping[int, MemoryNode], group: Affinity, wanted: Mapping[str, int]) -> dict[int, MemoryNode]:
    """A block on each NUMA node of the group, which belong together from then on (rules: memory-checkpoint,
    `cells`).
    """
    pinned = {
        numa: node._replace(assignments=node.assignments + len(wanted), cells=tuple(sorted(group)))
        if numa in group
        else node
        for numa, node in memory.items()
    }
    for kind, size in wanted.items():
        free = {numa: node.tables[kind].free for numa, node in memory.items() if kind in node.tables}
        left = _taken(free, size, group)
        for numa, amount in left.items():
            table = pinned[numa].tables[kind]
            taken = table.free - amount
            table = table._replace(free=amount, reserved=table.reserved + taken)
            pinned[numa] = pinned[numa]._replace(tables={**pinned[numa].tables, kind: table})
    return pinned
