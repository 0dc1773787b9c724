"""Picks CPUs like the static policy of the CPU Manager (rules: exclusive-cpus).

Kubernetes: pkg/kubelet/cm/cpumanager/{policy_static,cpu_assignment}.go. Not followed:
`prefer-align-cpus-by-uncorecache`: only the agent reads the level 3 caches, and no table stores them.
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


class Assignment(NamedTuple):
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
    lowest: int
    """Its id in the kubelet: the lowest of its CPUs."""
    cpus: Cpus


_Level: TypeAlias = Callable[[_Core], int]
"""A kind of group of cores: the id of the core's group."""
_numa: Final[_Level] = attrgetter("numa")
_socket: Final[_Level] = attrgetter("socket")


def take_cpus(topology: NumaTopology, free: Cpus, count: int, affinity: Affinity | None, options: Assignment) -> Cpus:
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
    """Return the packages of these NUMA nodes."""
    return frozenset(core.socket for core in _cores(topology) if core.numa in affinity)


def _cores(topology: NumaTopology) -> list[_Core]:
    """Return the cores. If no source has the packages, each NUMA node is one."""
    return [
        _Core(node.numa_node, socket, min(cpus), cpus)
        for node in topology.numa_nodes
        for cpus, socket in zip(node.cores, node.sockets or (node.numa_node,) * len(node.cores), strict=True)
    ]


def _take(cores: Sequence[_Core], free: Cpus, count: int, options: Assignment) -> Cpus:
    group = _threads(cores) if options.whole_cores else 1
    if not count:
        return frozenset()
    if count > len(free):
        raise NotEnoughCpus(count, len(free))
    if options.across_numa and count % group == 0:
        taken = _take_evenly(cores, free, count, group, spread=options.across_cores)
        if taken is not None:
            return taken
    return _packed(cores, free, count, spread=options.across_cores)


def _packed(cores: Sequence[_Core], free: Cpus, count: int, *, spread: bool) -> Cpus:
    """Yield NUMA nodes and sockets, cores, then CPUs, each where least is free; with `spread`, CPUs by their ids."""
    taken = frozenset[int]()
    levels = _levels(cores)
    for depth, level in enumerate(levels):
        for group in _groups(cores, free - taken, levels[: depth + 1]):
            cpus = _cpus(core for core in cores if level(core) == group)
            whole = len(cpus & (free - taken)) == (
                len(_cpus(cores)) // len(set(map(_socket, cores))) if level is _socket else len(cpus)
            )
            if whole and len(cpus) <= count - len(taken):
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


def _take_evenly(cores: Sequence[_Core], free: Cpus, count: int, group: int, *, spread: bool) -> Cpus | None:
    """Take the same share from as few NUMA nodes as can give it, in groups of `group` CPUs; None if none can.

    Among equally many it takes the NUMA nodes after which the free CPUs of all of them are most even.
    """
    levels = _levels(cores)
    numa_nodes = _groups(cores, free, levels[: levels.index(_numa) + 1])
    by_numa = {numa: free & _cpus(core for core in cores if core.numa == numa) for numa in numa_nodes}
    room = {numa: len(cpus) for numa, cpus in by_numa.items()}
    groups = _ceil(count, group)
    groups_of_numa = _ceil(_ceil(sum(len(core.cpus) for core in cores), group), len({core.numa for core in cores}))
    for size in range(_ceil(groups, groups_of_numa), min(groups, len(numa_nodes)) + 1):
        share = count // size // group * group
        split = _most_even(room, size, share, count, group)
        if split is None:
            continue
        taken = frozenset[int]()
        for numa in split.numa_nodes:
            taken |= _packed(cores, by_numa[numa], share, spread=spread)
        for numa in split.rest:
            taken |= _packed(cores, by_numa[numa] - taken, group, spread=spread)
        return taken
    return None


class _Split(NamedTuple):
    numa_nodes: tuple[int, ...]
    """NUMA nodes that give a share each."""
    rest: tuple[int, ...]
    """NUMA nodes that give another group of CPUs each, one after the other."""


def _most_even(room: Mapping[int, int], size: int, share: int, count: int, group: int) -> _Split | None:
    best, found = inf, None
    rest = count - share * size
    for chosen in combinations(room, size):
        groups = sum(room[numa] // group for numa in chosen)
        if best and groups * group >= count and all(room[numa] >= share for numa in chosen):
            left = {numa: free - share * (numa in chosen) for numa, free in room.items()}
            for given, after in _rests(left, [numa for numa in chosen if left[numa] >= group], rest, group):
                if (balance := _deviation(after.values())) < best:
                    best, found = balance, _Split(chosen, given)
    return found


def _rests(
    left: dict[int, int], givers: Sequence[int], rest: int, group: int
) -> Iterator[tuple[tuple[int, ...], dict[int, int]]]:
    """Yield the ways to take the rest in turns from some givers, from many of them first, and what each leaves."""
    if not rest:
        yield (), left
        return
    for size in range(len(givers), 0, -1):
        for chosen in combinations(givers, size):
            after, given = dict(left), list[int]()
            while len(given) * group < rest and (able := [numa for numa in chosen if after[numa] >= group]):
                for numa in able[: rest // group - len(given)]:
                    after[numa] -= group
                    given.append(numa)
            if len(given) * group == rest:
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

    def place(core: _Core) -> tuple[int, ...]:
        of_groups = (
            n for level, count in zip(levels, counts, strict=True) for n in (count[level(core)], level(core))
        )
        return (*of_groups, len(core.cpus & free), core.lowest)

    return sorted(able, key=place)


def _groups(cores: Sequence[_Core], free: Cpus, levels: Sequence[_Level]) -> list[int]:
    return list(dict.fromkeys(levels[-1](core) for core in _sort_cores(cores, free, levels)))


def _cpus(cores: Iterable[_Core]) -> Cpus:
    return frozenset().union(*(core.cpus for core in cores))


def _threads(cores: Sequence[_Core]) -> int:
    return len(_cpus(cores)) // len(cores)
