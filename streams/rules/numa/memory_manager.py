"""Reserves and releases memory like the memory manager's Static policy (rules: topology-manager).

Kubernetes: pkg/kubelet/cm/memorymanager/policy_static.go.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain

from streams.rules.numa.hints import Affinity, Hint, mask, memory_hints
from streams.rules.numa.memory_checkpoint import MemoryBlock, MemoryManagerState, MemoryNode


class NoMemory(Exception):
    """No NUMA nodes can hold the memory; the message is the kubelet's."""

    def __init__(self, text: str) -> None:
        super().__init__(f"[memorymanager] {text}")


def memory_affinity(machine: Mapping[int, MemoryNode], requested: Mapping[str, int], hint: Hint) -> Affinity:
    """Return the NUMA nodes for a container's memory (bytes by type, all above 0) under the Topology Manager's hint.

    A hint without an opinion is replaced by the best of the manager's own, and one that is too small widened to one
    that contains it. Raises NoMemory.
    """
    hints = memory_hints(machine, requested) or ()
    if hint.affinity is None:
        if not hints:
            raise NoMemory("failed to get the default NUMA affinity, no NUMA nodes with enough memory is available")
        hint = _replaced(hint, _best(hints), "failed to find the default preferred hint")
    affinity = hint.affinity or frozenset()
    if not _suffices(machine, affinity, requested):
        wider = [each for each in hints if affinity <= (each.affinity or frozenset())]
        if not wider:
            raise NoMemory("failed to find NUMA nodes to extend the current topology hint")
        hint = _replaced(hint, _best(wider), "failed to find the extended preferred hint")
        affinity = hint.affinity or frozenset()
    used = [node for numa, node in machine.items() if numa in affinity and node.assignments]
    if len(affinity) > 1 and any(frozenset(node.cells) != affinity for node in used):
        raise NoMemory("preferred hint violates NUMA node allocation")
    return affinity


def reserve(
    machine: Mapping[int, MemoryNode], affinity: Affinity, requested: Mapping[str, int]
) -> dict[int, MemoryNode]:
    """Return the machine with a container's memory on these NUMA nodes, which then form a group (`cells`)."""
    after = dict(machine)
    for kind, size in requested.items():
        left = size
        for numa in sorted(affinity & after.keys()):
            node, part = _moved(after[numa], kind, left)
            left -= part
            after[numa] = node._replace(assignments=node.assignments + 1, cells=tuple(sorted(affinity)))
    return after


def without_pods(state: MemoryManagerState, gone: Collection[str]) -> MemoryManagerState:
    """Return the state without the memory of these pods, which the kubelet itself forgets at its next admission."""
    held = state.entries.keys() | state.pod_entries.keys()
    blocks = [block for uid in sorted(held.intersection(gone)) for block in _blocks(state, uid)]
    machine = dict(state.machine)
    for block in blocks:
        left = block.size_bytes
        for numa in machine.keys() & set(block.numa_nodes):
            node, part = _moved(machine[numa], block.type, -left)
            left += part
            assignments = max(0, node.assignments - 1)
            machine[numa] = node._replace(assignments=assignments, cells=node.cells if assignments else (numa,))
    return state._replace(
        machine=machine,
        entries={uid: entry for uid, entry in state.entries.items() if uid not in gone},
        pod_entries={uid: entry for uid, entry in state.pod_entries.items() if uid not in gone},
    )


def _blocks(state: MemoryManagerState, uid: str) -> Iterable[MemoryBlock]:
    """Return the blocks of its containers, or pod-level ones, which contain them."""
    return state.pod_entries.get(uid) or chain.from_iterable(state.entries.get(uid, {}).values())


def _moved(node: MemoryNode, kind: str, size: int) -> tuple[MemoryNode, int]:
    """Return the node after it reserved, or for a negative `size` released, as much as it can, and that amount."""
    table = node.tables.get(kind)
    if table is None:
        return node, 0
    part = max(-table.reserved, min(table.free, size))
    table = table._replace(free=table.free - part, reserved=table.reserved + part)
    return node._replace(tables={**node.tables, kind: table}), part


def _suffices(machine: Mapping[int, MemoryNode], affinity: Affinity, requested: Mapping[str, int]) -> bool:
    tables = [machine[numa].tables for numa in affinity & machine.keys()]
    return all(sum(each[kind].free for each in tables if kind in each) >= size for kind, size in requested.items())


def _best(hints: Iterable[Hint]) -> Hint:
    """Return the best hint: preferred, then fewest NUMA nodes, then the least bit mask: {1, 2} before {0, 3}."""
    return min(hints, key=lambda hint: (not hint.preferred, len(hint.affinity or ()), mask(hint.affinity or ())))


def _replaced(hint: Hint, own: Hint, text: str) -> Hint:
    if hint.preferred and not own.preferred:
        raise NoMemory(text)
    return own
