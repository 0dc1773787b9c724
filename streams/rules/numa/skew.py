"""Computes the numbers of NUMA skew (glossary.md#numa, rules: numa-sources); None if no source reports one."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import fmean
from typing import Final, NamedTuple

from streams.rules.numa.topology import NumaTopology

GROUP_GAP: Final = timedelta(hours=6)
"""Nodes that joined at least this long after one another are in different groups. A rollout, or a delivery of
machines, takes minutes to a few hours, and the next one comes on another shift.
"""
_FEWEST: Final = 3
"""A rank correlation of fewer nodes is meaningless."""


class NodeAge(NamedTuple):
    """A node by its age; tuples sort from the oldest on."""

    created_at: datetime
    node: str
    ratio: float
    """Exclusive CPUs divided by exclusively allocatable CPUs."""


class AgeGroup(NamedTuple):
    nodes: tuple[str, ...]
    first_created_at: datetime
    ratio: float
    """The mean of its nodes' ratios."""


class LateJoiners(NamedTuple):
    rank_correlation: float | None
    """Spearman's correlation of age and ratio: 1 if each older node is fuller. None for fewer than 3 nodes, or
    where all are equally old or equally full.
    """
    groups: tuple[AgeGroup, ...]
    """Groups from the oldest to the youngest."""

    @property
    def gap_ratio(self) -> float | None:
        """Return the oldest group's ratio minus the youngest's; None if there is one group."""
        return self.groups[0].ratio - self.groups[-1].ratio if len(self.groups) > 1 else None


def late_joiners(nodes: Sequence[NodeAge], group_gap: timedelta = GROUP_GAP) -> LateJoiners:
    """Relate the ratios of `nodes` to their ages; the order of `nodes` does not matter."""
    ordered = sorted(nodes)
    groups: list[list[NodeAge]] = []
    for aged in ordered:
        if groups and aged.created_at - groups[-1][-1].created_at < group_gap:
            groups[-1].append(aged)
        else:
            groups.append([aged])
    return LateJoiners(
        rank_correlation=_spearman(
            [-aged.created_at.timestamp() for aged in ordered], [aged.ratio for aged in ordered]
        ),
        groups=tuple(
            AgeGroup(tuple(a.node for a in group), group[0].created_at, fmean(a.ratio for a in group))
            for group in groups
        ),
    )


def _spearman(left: Sequence[float], right: Sequence[float]) -> float | None:
    if len(left) < _FEWEST:
        return None
    x, y = _ranks(left), _ranks(right)
    mean = (len(x) + 1) / 2
    covariance = sum((a - mean) * (b - mean) for a, b in zip(x, y, strict=True))
    spread: float = sum((a - mean) ** 2 for a in x) * sum((b - mean) ** 2 for b in y)
    return covariance / spread**0.5 if spread else None


def _ranks(values: Sequence[float]) -> list[float]:
    """Rank values from 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for i in order[first : last + 1]:
            ranks[i] = (first + last) / 2 + 1
        first = last + 1
    return ranks


class NumaNumbers(NamedTuple):
    """The numbers of one NUMA node; all except the id are counts."""

    numa_node: int
    cpus: int | None = None
    reserved_cpus: int | None = None
    exclusive_cpus: int | None = None
    free_cpus: int | None = None
    cores: int | None = None
    free_cores: int | None = None

    @property
    def allocatable_cpus(self) -> int | None:
        """Return the CPUs that containers can hold exclusively: cpus - reserved."""
        if self.cpus is None or self.reserved_cpus is None:
            return None
        return self.cpus - self.reserved_cpus

    @property
    def ratio(self) -> float | None:
        """Return exclusive / (cpus - reserved); None if unknown or if nothing is allocatable."""
        return exclusive_ratio(self.exclusive_cpus, self.allocatable_cpus)


class Skew(NamedTuple):
    """Measures how unevenly exclusive CPUs are spread; ratios 0..1, counts of CPUs."""

    skew_ratio: float
    mean_absolute_deviation: float
    free_cpus: int
    largest_fit_cpus: int
    stranded_cpus: int


def exclusive_ratio(exclusive: int | None, allocatable: int | None) -> float | None:
    """Return exclusive / allocatable; None if either is unknown or nothing is allocatable."""
    return exclusive / allocatable if exclusive is not None and allocatable else None


def exact_numbers(
    topology: NumaTopology, reserved: frozenset[int], exclusive: frozenset[int]
) -> tuple[NumaNumbers, ...]:
    """Return the numbers of each NUMA node from CPU ids; a core is free when each of its threads is."""
    taken = reserved | exclusive
    return tuple(
        NumaNumbers(
            numa_node=node.numa_node,
            cpus=len(node.cpus),
            reserved_cpus=len(node.cpus & reserved),
            exclusive_cpus=len(node.cpus & exclusive),
            free_cpus=len(node.cpus - taken),
            cores=len(node.cores),
            free_cores=sum(core.isdisjoint(taken) for core in node.cores),
        )
        for node in topology.numa_nodes
    )


def counted_numbers(
    numa_node: int, cpus: int | None, reserved: int | None, exclusive: int | None, cores: int | None = None
) -> NumaNumbers:
    """Return the numbers of a NUMA node from counts alone; which cores are free is unknown."""
    free = None if cpus is None or reserved is None or exclusive is None else cpus - reserved - exclusive
    return NumaNumbers(numa_node, cpus, reserved, exclusive, free, cores)


def skew(numbers: Sequence[NumaNumbers]) -> Skew | None:
    """Return the skew among NUMA nodes, or None if a count of one of them is unknown.

    A NUMA node with nothing to allocate has no ratio, but what is free there counts (it is 0 by definition).
    """
    free = [each.free_cpus for each in numbers if each.free_cpus is not None]
    ratios = [each.ratio for each in numbers if each.ratio is not None]
    if not numbers or len(free) < len(numbers):
        return None
    return Skew(*spread(ratios), sum(free), max(free), sum(free) - max(free))


def spread(ratios: Sequence[float]) -> tuple[float, float]:
    """Return maximum minus minimum, and the mean distance from the mean; both are 0 for fewer than two ratios."""
    if not ratios:
        return 0.0, 0.0
    mean = fmean(ratios)
    return max(ratios) - min(ratios), fmean(abs(ratio - mean) for ratio in ratios)


def cluster_skew(nodes: Sequence[tuple[int, int, int, int]]) -> Skew | None:
    """Return the skew among nodes, each (exclusive, allocatable, free, largest fit) in CPUs; None for no nodes.

    The largest fit is still that of one NUMA node, so what is free elsewhere in the cluster counts as stranded.
    """
    if not nodes:
        return None
    ratios = [exclusive / allocatable for exclusive, allocatable, _, _ in nodes if allocatable]
    free = sum(each[2] for each in nodes)
    fit = max(each[3] for each in nodes)
    return Skew(*spread(ratios), free, fit, free - fit)
