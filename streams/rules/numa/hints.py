"""Computes hints of the kubelet's CPU, memory and device managers, and merges them like the Topology Manager
(rules: memory-checkpoint, topology-manager).

Kubernetes: pkg/kubelet/cm/{cpumanager/policy_static,memorymanager/policy_static,devicemanager/topology_hints,
topologymanager/policy}.go. A NUMA affinity is a set of NUMA node ids; None is "any will do".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from streams.rules.numa.memory_checkpoint import MemoryNode

Affinity: TypeAlias = frozenset[int]


class Hint(NamedTuple):
    affinity: Affinity | None
    preferred: bool


Hints: TypeAlias = tuple[Hint, ...] | None
"""Hints for one resource: None has no opinion; an empty tuple means that nothing can serve it."""


def affinities(numa_nodes: Iterable[int]) -> Iterator[Affinity]:
    """Yield every non-empty set of the NUMA nodes, the smaller ones first."""
    ids = sorted(numa_nodes)
    for size in range(1, len(ids) + 1):
        yield from map(frozenset, combinations(ids, size))


def amount_hints(
    total: Mapping[int, int],
    available: Mapping[int, int],
    requested: int,
    reusable: Mapping[int, int] = MappingProxyType({}),
) -> Hints:
    """Return hints for CPUs or devices from the machine's, the free and the requested amounts by NUMA node.

    Amounts of the pod's init containers are `reusable` besides the free ones, and a set without all of them is not a
    hint.

    Every set of NUMA nodes with enough free is a hint. Preferred are those of the size that the empty machine would
    need. Without a request there is no opinion. CPUs that the kubelet reserves belong to `total`.
    """
    if requested <= 0:
        return None
    smallest = fewest(total, requested)
    return tuple(
        Hint(affinity, len(affinity) == smallest)
        for affinity in affinities(total)
        if _sum(available, affinity) + _sum(reusable, affinity) >= requested
        if all(numa in affinity for numa, amount in reusable.items() if amount)
    )


def fewest(total: Mapping[int, int], requested: int) -> int:
    """Return the smallest number of NUMA nodes that an empty machine would need."""
    return next((len(a) for a in affinities(total) if _sum(total, a) >= requested), len(total))


def memory_hints(machine: Mapping[int, MemoryNode], requested: Mapping[str, int]) -> Hints:
    """Return the memory manager's hints under the Static policy for bytes by memory type; the same for each type.

    A NUMA node that serves a container alone cannot join a group. One of a group can serve neither alone nor in
    another group. If none can serve it, the manager has no hints, which the Topology Manager takes for no opinion.
    """
    memory = {kind: size for kind, size in requested.items() if size > 0}
    if not memory:
        return None
    able = [a for a in affinities(machine) if _has_memory(machine, a, memory, "allocatable")]
    smallest = min(map(len, able), default=len(machine))
    return tuple(
        Hint(affinity, len(affinity) == smallest)
        for affinity in able
        if _can_group(machine, affinity) and _has_memory(machine, affinity, memory, "free")
    )


def merge(
    numa_nodes: Iterable[int],
    resources: Sequence[Hints],
    *,
    single_numa: bool = False,
    distances: Mapping[int, Mapping[int, int]] | None = None,
) -> Hint:
    """Return the best of all permutations of the resources' hints: preferred before not, then narrow before wide.

    Among equally narrow ones the lower NUMA ids win, or, with `distances` (option prefer-closest-numa-nodes), those
    at the smallest average distance. `single_numa` is the filter of that policy: only preferred hints of one NUMA
    node.
    """
    everything = frozenset(numa_nodes)
    filled = [_hints_or_any(hints) for hints in resources]
    if single_numa:
        filled = [tuple(hint for hint in hints if _is_single(hint)) for hints in filled]
    candidates = [hint for hint in _merge_permutations(everything, filled) if hint.affinity]
    if not candidates:
        return Hint(everything, preferred=False)
    needed = max((_narrowest(hints) for hints in filled), default=0)
    best = min(candidates, key=lambda hint: _rank(hint, needed, distances))
    return Hint(None, best.preferred) if single_numa and best.affinity == everything else best


def _hints_or_any(hints: Hints) -> tuple[Hint, ...]:
    if hints is None:
        return (Hint(None, preferred=True),)
    return hints or (Hint(None, preferred=False),)


def _is_single(hint: Hint) -> bool:
    return hint.preferred and (hint.affinity is None or len(hint.affinity) == 1)


def _narrowest(hints: tuple[Hint, ...]) -> int:
    return min((len(hint.affinity) for hint in hints if hint.affinity is not None), default=0)


def _merge_permutations(everything: Affinity, resources: Sequence[tuple[Hint, ...]]) -> set[Hint]:
    """Return the merged hint of every permutation: the common NUMA nodes, preferred if all hints are and name the
    same ones.

    Permutations that agree so far are followed once, because their number is exponential.
    """
    merged: set[tuple[Affinity, Affinity | None, bool]] = {(everything, None, True)}
    for hints in resources:
        merged = {
            (
                common if hint.affinity is None else common & hint.affinity,
                first or hint.affinity,
                preferred and hint.preferred and (hint.affinity is None or first in {None, hint.affinity}),
            )
            for common, first, preferred in merged
            for hint in hints
        }
        # Which affinity was the first no longer matters once the permutation is not preferred.
        merged = {(common, first if preferred else None, preferred) for common, first, preferred in merged}
    return {Hint(common, preferred) for common, _, preferred in merged}


def _rank(hint: Hint, needed: int, distances: Mapping[int, Mapping[int, int]] | None) -> tuple[int, int, float, int]:
    """Return a key that sorts hints from the best.

    Among hints that are not preferred, the widest up to `needed` is best, the number of NUMA nodes of the most
    demanding resource. Then come the wider ones, narrow before wide.
    """
    affinity = hint.affinity or frozenset()
    bits = mask(affinity)
    distance = _mean_distance(affinity, distances) if distances else 0.0
    if hint.preferred:
        return (0, len(affinity), distance, bits)
    if len(affinity) <= needed:
        return (1, -len(affinity), distance, bits)
    return (2, len(affinity), distance, bits)


def mask(numa_nodes: Iterable[int]) -> int:
    """Return a bit mask of NUMA nodes, by which the kubelet orders sets of equal size."""
    return sum(1 << numa for numa in numa_nodes)


def _mean_distance(affinity: Affinity, distances: Mapping[int, Mapping[int, int]]) -> float:
    pairs = [distances.get(a, {}).get(b, 0) for a in affinity for b in affinity]
    return sum(pairs) / len(pairs) if pairs else 0.0


def _sum(amounts: Mapping[int, int], affinity: Affinity) -> int:
    return sum(amounts.get(numa, 0) for numa in affinity)


def _has_memory(machine: Mapping[int, MemoryNode], affinity: Affinity, memory: Mapping[str, int], field: str) -> bool:
    return all(
        sum(getattr(machine[numa].tables[kind], field) for numa in affinity if kind in machine[numa].tables) >= size
        for kind, size in memory.items()
    )


def _can_group(machine: Mapping[int, MemoryNode], affinity: Affinity) -> bool:
    nodes = [machine[numa] for numa in affinity]
    if len(nodes) == 1:
        return len(nodes[0].cells) <= 1
    return all(node.assignments == 0 or frozenset(node.cells) == affinity for node in nodes)
