"""`/var/lib/kubelet/memory_manager_state`: read and verified (rules: memory-checkpoint).

Kubernetes: pkg/kubelet/cm/memorymanager/state/{checkpoint,state}.go.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from streams.rules.numa.cpu_checkpoint import BadCheckpoint, fnv1a_32, folded, json_fields, spew_map, typed

_TABLE_FIELDS: Final = {
    "total": "TotalMemSize",
    "systemReserved": "SystemReserved",
    "allocatable": "Allocatable",
    "reserved": "Reserved",
    "free": "Free",
}


_LONGEST_ID: Final = 6
"""Digits of a NUMA node's number; Linux has at most 1,024 nodes."""


class MemoryTable(NamedTuple):
    """Bytes of one memory type on one NUMA node, from the file; free = allocatable - reserved."""

    total: int
    system_reserved: int
    allocatable: int
    reserved: int
    free: int


class MemoryNode(NamedTuple):
    assignments: int
    tables: dict[str, MemoryTable]
    """Memory by type: `memory`, `hugepages-2Mi` ..."""
    cells: tuple[int, ...]
    """The NUMA nodes of the group that this one belongs to while a container spans them."""


class MemoryBlock(NamedTuple):
    numa_nodes: tuple[int, ...]
    type: str
    size_bytes: int


class MemoryManagerState(NamedTuple):
    policy: str
    """`None` or `Static`."""
    machine: dict[int, MemoryNode]
    """Memory by NUMA node."""
    entries: dict[str, dict[str, tuple[MemoryBlock, ...]]]
    """Blocks by pod uid, then container."""
    pod_entries: dict[str, tuple[MemoryBlock, ...]]
    """Blocks by pod uid (V2 only)."""
    version: Literal[1, 2]


def memory_checksum(state: MemoryManagerState) -> int:
    """Return the checksum that the kubelet writes for this state in its version's format."""
    pods = ""
    if state.version == 2:  # noqa: PLR2004  the version's own number
        by_pod = {uid: f"{{MemoryBlocks:([]state.Block){_spew_blocks(b)}}}" for uid, b in state.pod_entries.items()}
        pods = f" PodEntries:(state.PodMemoryAssignments){spew_map(by_pod)}"
    machine = " ".join(f"{numa}:<*>{_spew_node(node)}" for numa, node in sorted(state.machine.items()))
    entries = {
        uid: spew_map({name: _spew_blocks(blocks) for name, blocks in containers.items()})
        for uid, containers in state.entries.items()
    }
    return fnv1a_32(
        f"(*state.MemoryManagerCheckpoint){{PolicyName:(string){state.policy} "
        f"MachineState:(state.NUMANodeMap)map[{machine}] "
        f"Entries:(state.ContainerMemoryAssignments){spew_map(entries)}{pods} Checksum:(checksum.Checksum)0}}"
    )


def parse_memory_manager_state(text: str) -> MemoryManagerState:
    """Parse the state, with keys in any case, and verify its checksum (0 or absent passes). Raises BadCheckpoint."""
    fields = json_fields(text, ("policyname", "machinestate", "entries", "podentries", "checksum"))
    pod_entries = {
        uid: _blocks(folded(entry).get("memoryblocks"))
        for uid, entry in typed(fields.get("podentries"), dict, {}, "podEntries").items()
    }
    state = MemoryManagerState(
        policy=typed(fields.get("policyname"), str, "", "policyName"),
        machine={
            _numa_id(key): _memory_node(node)
            for key, node in typed(fields.get("machinestate"), dict, {}, "machineState").items()
        },
        entries={
            uid: {name: _blocks(blocks) for name, blocks in typed(containers, dict, {}, "entry").items()}
            for uid, containers in typed(fields.get("entries"), dict, {}, "entries").items()
        },
        pod_entries=pod_entries,
        version=2 if pod_entries else 1,
    )
    stored = typed(fields.get("checksum"), int, 0, "checksum")
    candidates = (state,) if pod_entries else (state, state._replace(version=2))
    for candidate in candidates:
        if stored in (0, memory_checksum(candidate)):
            return candidate
    raise BadCheckpoint(f"memory_manager_state has checksum {stored}, its content does not")


def _memory_node(value: object) -> MemoryNode:
    fields = folded(value)
    return MemoryNode(
        assignments=typed(fields.get("numberofassignments"), int, 0, "numberOfAssignments"),
        tables={
            kind: _table(folded(table))
            for kind, table in typed(fields.get("memorymap"), dict, {}, "memoryMap").items()
        },
        cells=_ids(fields.get("cells")),
    )


def _table(fields: Mapping[str, Any]) -> MemoryTable:
    return MemoryTable(*(typed(fields.get(name.lower()), int, 0, name) for name in _TABLE_FIELDS))


def _blocks(value: object) -> tuple[MemoryBlock, ...]:
    return tuple(
        MemoryBlock(
            numa_nodes=_ids(fields.get("numaaffinity")),
            type=typed(fields.get("type"), str, "", "type"),
            size_bytes=typed(fields.get("size"), int, 0, "size"),
        )
        for fields in map(folded, typed(value, list, [], "memory blocks"))
    )


def _ids(value: object) -> tuple[int, ...]:
    return tuple(typed(numa, int, 0, "NUMA node") for numa in typed(value, list, [], "NUMA nodes"))


def _numa_id(key: str) -> int:
    if not (key.isascii() and key.isdecimal() and len(key) <= _LONGEST_ID):
        raise BadCheckpoint(f"machineState has {key!r:.80} where a NUMA node's number belongs")
    return int(key)


def _spew_node(node: MemoryNode) -> str:
    tables = spew_map({kind: f"<*>{{{_spew_table(table)}}}" for kind, table in node.tables.items()})
    return (
        f"{{NumberOfAssignments:(int){node.assignments} "
        f"MemoryMap:(map[v1.ResourceName]*state.MemoryTable){tables} Cells:([]int){_spew_ids(node.cells)}}}"
    )


def _spew_table(table: MemoryTable) -> str:
    return " ".join(f"{name}:(uint64){size}" for name, size in zip(_TABLE_FIELDS.values(), table, strict=True))


def _spew_blocks(blocks: tuple[MemoryBlock, ...]) -> str:
    printed = (
        f"{{NUMAAffinity:([]int){_spew_ids(numa_nodes)} Type:(v1.ResourceName){kind} Size:(uint64){size_bytes}}}"
        for numa_nodes, kind, size_bytes in blocks
    )
    return f"[{' '.join(printed)}]"


def _spew_ids(ids: tuple[int, ...]) -> str:
    return f"[{' '.join(map(str, ids))}]"
