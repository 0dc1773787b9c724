"""Picks CPUs like the static policy of the CPU Manager (rules: exclusive-cpus).

Kubernetes: pkg/kubelet/cm/cpumanager/{policy_static,cpu_assignment}.go. Not implemented:
`prefer-align-cpus-by-uncorecache`, because a `NumaTopology` has no caches.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import floor, inf, sqrt
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

from streams.rules.numa.hints import Affinity
from streams.rules.numa.topology import NumaTopology

Cpus: TypeAlias = frozenset[int]


class NotEnoughCpus(Exception):
    """Fewer CPUs are free than one step of the assignment needs; the message is the kubelet's."""

    def __init__(self, requested: int, available: int) -> None:
        super().__init__(
            f"not enough cpus available to satisfy request: requested={requested}, available={available}"
        )


class StaticPolicyOptions(NamedTuple):
    """The static policy's options that choose among free CPUs."""

    across_numa: bool = False
    """`distribute-cpus-across-numa`."""
    across_cores: bool = False
    """`distribute-cpus-across-cores`."""
    by_socket: bool = False
    """`align-by-socket`."""
    whole_cores: bool = False
    """`full-pcpus-only`."""


class _Core(NamedTuple):
    numa: int
    socket: int
    core_id: int
    """Its id in the kubelet: the lowest of its CPUs."""
    cpus: Cpus


_Level: TypeAlias = Callable[[_Core], int]
"""Returns the id of a core's NUMA node or socket."""
_numa: Final[_Level] = attrgetter("numa")
_socket: Final[_Level] = attrgetter("socket")


def take_cpus(
    topology: NumaTopology, free: Cpus, count: int, affinity: Affinity | None, options: StaticPolicyOptions
) -> Cpus:
    """Pick `count` free CPUs, first on the affinity's NUMA nodes (or sockets), then any. Raises NotEnoughCpus."""
    cores = _cores(topology)
    if affinity is None:
        return _take(cores, free, count, options)
    sockets = {core.socket for core in cores if core.numa in affinity}
    near = (core.cpus for core in cores if (core.socket in sockets if options.by_socket else core.numa in affinity))
    aligned = free & frozenset().union(*near)
    taken = _take(cores, aligned, min(count, len(aligned)), options)
    return taken | _take(cores, free - taken, count - len(taken), options)


def sockets_of(topology: NumaTopology, affinity: Affinity) -> frozenset[int]:
    """Return the sockets of these NUMA nodes."""
    return frozenset(core.socket for core in _cores(topology) if core.numa in affinity)


def _cores(topology: NumaTopology) -> list[_Core]:
    """Return the cores. If no source reports the sockets, each NUMA node counts as one."""
    return [
        _Core(node.numa_node, socket, min(cpus), cpus)
        for node in topology.numa_nodes
        for cpus, socket in zip(node.cores, node.sockets or (node.numa_node,) * len(node.cores), strict=True)
    ]


def _take(cores: Sequence[_Core], free: Cpus, count: int, options: StaticPolicyOptions) -> Cpus:
    group_size = _threads(cores) if options.whole_cores else 1
    if not count:
        return frozenset()
    if count > len(free):
        raise NotEnoughCpus(count, len(free))
    if options.across_numa and count % group_size == 0:
        taken = _take_evenly(cores, free, count, group_size, spread=options.across_cores)
        if taken is not None:
            return taken
    return _packed(cores, free, count, spread=options.across_cores)


def _packed(cores: Sequence[_Core], free: Cpus, count: int, *, spread: bool) -> Cpus:
    """Take whole NUMA nodes and sockets, then cores, then CPUs, from where least is free.

    With `spread`, skip whole cores and take each socket's CPUs by id.
    """
    taken = frozenset[int]()
    levels = _levels(cores)
    for depth, level in enumerate(levels):
        for group in _groups(cores, free - taken, levels[: depth + 1]):
            cpus = _cpus(core for core in cores if level(core) == group)
            cpus_per_group = len(cpus)
            if level is _socket:  # the kubelet's CPUsPerSocket is an average
                cpus_per_group = len(_cpus(cores)) // len(set(map(_socket, cores)))
            if len(cpus & (free - taken)) == cpus_per_group and len(cpus) <= count - len(taken):
                taken |= cpus
    if not spread:
        for core in _sort_cores(cores, free - taken, levels):
            if len(core.cpus & free) == _threads(cores) and len(core.cpus) <= count - len(taken):
                taken |= core.cpus
    return taken | frozenset(_single_cpus(cores, free - taken, levels, spread=spread)[: count - len(taken)])


def _single_cpus(cores: Sequence[_Core], free: Cpus, levels: Sequence[_Level], *, spread: bool) -> list[int]:
    if not spread:
        return [cpu for core in _sort_cores(cores, free, levels) for cpu in sorted(core.cpus & free)]
    sockets = _groups(cores, free, levels[: levels.index(_socket) + 1])
    return [
        cpu for socket in sockets for cpu in sorted(free & _cpus(core for core in cores if core.socket == socket))
    ]


def _take_evenly(cores: Sequence[_Core], free: Cpus, count: int, group_size: int, *, spread: bool) -> Cpus | None:
    """Take the same share from as few NUMA nodes as can give it, in groups of `group_size` CPUs; None if none can.

    Among sets of equal size it takes the one that leaves the free CPUs of all NUMA nodes most even.
    """
    levels = _levels(cores)
    numa_nodes = _groups(cores, free, levels[: levels.index(_numa) + 1])
    by_numa = {numa: free & _cpus(core for core in cores if core.numa == numa) for numa in numa_nodes}
    free_by_numa = {numa: len(cpus) for numa, cpus in by_numa.items()}
    groups = _ceil(count, group_size)
    cpu_count = sum(len(core.cpus) for core in cores)
    groups_of_numa = _ceil(_ceil(cpu_count, group_size), len({core.numa for core in cores}))
    for node_count in range(_ceil(groups, groups_of_numa), min(groups, len(numa_nodes)) + 1):
        share = count // node_count // group_size * group_size
        split = _most_even(free_by_numa, node_count, share, count, group_size)
        if split is None:
            continue
        taken = frozenset[int]()
        for numa in split.numa_nodes:
            taken |= _packed(cores, by_numa[numa], share, spread=spread)
        for numa in split.remainder:
            taken |= _packed(cores, by_numa[numa] - taken, group_size, spread=spread)
        return taken
    return None


class _Split(NamedTuple):
    numa_nodes: tuple[int, ...]
    """NUMA nodes that give a share each."""
    remainder: tuple[int, ...]
    """NUMA nodes that give another group of CPUs each, one after the other; a node can occur again."""


def _most_even(
    free_by_numa: Mapping[int, int], node_count: int, share: int, count: int, group_size: int
) -> _Split | None:
    best, found = inf, None
    rest = count - share * node_count
    for chosen in combinations(free_by_numa, node_count):
        groups = sum(free_by_numa[numa] // group_size for numa in chosen)
        can_give = groups * group_size >= count and all(free_by_numa[numa] >= share for numa in chosen)
        if best and can_give:  # 0 cannot be improved
            left = {numa: free - share * (numa in chosen) for numa, free in free_by_numa.items()}
            nodes = [numa for numa in chosen if left[numa] >= group_size]
            for given, after in _remainders(left, nodes, rest, group_size):
                if (balance := _deviation(after.values())) < best:
                    best, found = balance, _Split(chosen, given)
    return found


def _remainders(
    left: dict[int, int], nodes: Sequence[int], rest: int, group_size: int
) -> Iterator[tuple[tuple[int, ...], dict[int, int]]]:
    """Yield the ways to take `rest` CPUs round-robin from subsets of nodes, largest subset first, with the CPUs then
    left.
    """
    if not rest:
        yield (), left
        return
    for node_count in range(len(nodes), 0, -1):
        for chosen in combinations(nodes, node_count):
            after, given = dict(left), list[int]()
            while len(given) * group_size < rest and (able := [numa for numa in chosen if after[numa] >= group_size]):
                for numa in able[: rest // group_size - len(given)]:
                    after[numa] -= group_size
                    given.append(numa)
            if len(given) * group_size == rest:
                yield tuple(given), after


def _deviation(counts: Collection[int]) -> float:
    """Return the standard deviation, as the kubelet rounds it."""
    mean = _rounded(sum(counts) / len(counts))
    return _rounded(sqrt(sum((count - mean) ** 2 for count in counts) / len(counts)))


def _rounded(value: float) -> float:
    return floor(value * 1000 + 0.5) / 1000


def _ceil(amount: int, divisor: int) -> int:
    return -(-amount // divisor)


def _levels(cores: Sequence[_Core]) -> tuple[_Level, _Level]:
    """Return NUMA nodes and sockets, the larger kind first."""
    numa_first = len(set(map(_socket, cores))) >= len(set(map(_numa, cores)))
    return (_numa, _socket) if numa_first else (_socket, _numa)


def _sort_cores(cores: Sequence[_Core], free: Cpus, levels: Sequence[_Level]) -> list[_Core]:
    """Sort cores with free CPUs: by the free CPUs of their groups and the group's id, level by level."""
    able = [core for core in cores if core.cpus & free]
    counts = [Counter(level(core) for core in able for _ in core.cpus & free) for level in levels]

    def sort_key(core: _Core) -> tuple[int, ...]:
        of_groups = (
            n for level, count in zip(levels, counts, strict=True) for n in (count[level(core)], level(core))
        )
        return (*of_groups, len(core.cpus & free), core.core_id)

    return sorted(able, key=sort_key)


def _groups(cores: Sequence[_Core], free: Cpus, levels: Sequence[_Level]) -> list[int]:
    return list(dict.fromkeys(levels[-1](core) for core in _sort_cores(cores, free, levels)))


def _cpus(cores: Iterable[_Core]) -> Cpus:
    return frozenset().union(*(core.cpus for core in cores))


def _threads(cores: Sequence[_Core]) -> int:
    return len(_cpus(cores)) // len(cores)
