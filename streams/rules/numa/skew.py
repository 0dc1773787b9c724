"""The numbers of NUMA skew (glossary.md#numa, rules: numa-sources).

A number is None if its source does not report it: never a guess.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from streams.rules.numa.topology import NumaTopology


class NumaNumbers(NamedTuple):
    """One NUMA node; all but the id are counts."""

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
        """exclusive / (cpus - reserved); None also where nothing is allocatable."""
        return exclusive_ratio(self.exclusive_cpus, self.allocatable_cpus)


class Skew(NamedTuple):
    """Measures how unevenly exclusive CPUs are spread; ratios 0..1, counts of CPUs."""

    skew_ratio: float
    mean_absolute_deviation: float
    free_cpus: int
    largest_fit_cpus: int
    stranded_cpus: int


def exclusive_ratio(exclusive: int | None, allocatable: int | None) -> float | None:
    """None if either is unknown or nothing is allocatable."""
    return exclusive / allocatable if exclusive is not None and allocatable else None


def exact_numbers(
    topology: NumaTopology, reserved: frozenset[int], exclusive: frozenset[int]
) -> tuple[NumaNumbers, ...]:
    """The numbers of each NUMA node from CPU ids; a core is free when each of its threads is."""
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
    """The numbers of a NUMA node of which only counts are known; which cores are free is not."""
    free = None if cpus is None or reserved is None or exclusive is None else cpus - reserved - exclusive
    return NumaNumbers(numa_node, cpus, reserved, exclusive, free, cores)


def skew(numbers: Sequence[NumaNumbers]) -> Skew | None:
    """The skew among NUMA nodes, or None if a count of one of them is unknown.

    A NUMA node with nothing to allocate has no ratio, but what is free there counts (it is 0 by definition).
    """
    free = [each.free_cpus for each in numbers if each.free_cpus is not None]
    ratios = [each.ratio for each in numbers if each.ratio is not None]
    if not numbers or len(free) < len(numbers):
        return None
    return Skew(*spread(ratios), sum(free), max(free), sum(free) - max(free))


def spread(ratios: Sequence[float]) -> tuple[float, float]:
    """Maximum minus minimum, and the mean distance from the mean; both 0 for less than two ratios."""
    if not ratios:
        return 0.0, 0.0
    mean = fmean(ratios)
    return max(ratios) - min(ratios), fmean(abs(ratio - mean) for ratio in ratios)


def cluster_skew(nodes: Sequence[tuple[int, int, int, int]]) -> Skew | None:
    """The skew among nodes, each (exclusive, allocatable, free, largest fit) in CPUs; None for no nodes.

    The largest fit is still that of one NUMA node, so what is free elsewhere in the cluster counts as stranded.
    """
    if not nodes:
        return None
    ratios = [exclusive / allocatable for exclusive, allocatable, _, _ in nodes if allocatable]
    free = sum(each[2] for each in nodes)
    fit = max(each[3] for each in nodes)
    return Skew(*spread(ratios), free, fit, free - fit)
