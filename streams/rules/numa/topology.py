"""Models CPUs, physical cores and NUMA nodes of a machine (rules: cpu-checkpoint, cpu-topology)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ingest.model.cpuset import format_cpuset
from ingest.model.machine import Cpu


class InvalidTopology(ValueError):
    """CPUs that cannot be those of one machine."""


class NumaNode(NamedTuple):
    numa_node: int
    cpus: frozenset[int]
    cores: tuple[frozenset[int], ...]
    """The CPUs of each physical core (hyper-thread siblings together), ordered by (package, core)."""
    cpuset: str
    """CPU list of `cpus`."""
    core_cpusets: tuple[str, ...]
    """CPU list of each of `cores`."""
    sockets: tuple[int, ...] = ()
    """The package of each of `cores`; empty if no source has it."""


class NumaTopology(NamedTuple):
    """A machine's NUMA nodes that have CPUs, by id. Ids can be sparse, CPU ids interleaved."""

    numa_nodes: tuple[NumaNode, ...]

    @property
    def cpus(self) -> frozenset[int]:
        return frozenset().union(*(node.cpus for node in self.numa_nodes))

    @property
    def threads_per_core(self) -> int:
        """Return the kubelet's CPUsPerCore: all CPUs over all cores, whole."""
        cores = sum(len(node.cores) for node in self.numa_nodes)
        return len(self.cpus) // cores if cores else 1

    def siblings(self, cpus: frozenset[int]) -> frozenset[int]:
        """Return all CPUs of the physical cores that contain these."""
        return frozenset().union(*(core for node in self.numa_nodes for core in node.cores if core & cpus))

    def numa_nodes_of(self, cpus: frozenset[int]) -> tuple[int, ...]:
        return tuple(node.numa_node for node in self.numa_nodes if node.cpus & cpus)


def numa_topology(cpus: Iterable[Cpu]) -> NumaTopology:
    """Return the NUMA nodes of the online `cpus`; a NUMA node without any does not appear.

    A physical core is keyed by (package, core) on its NUMA node, because `core_id` is unique only within a package.
    Raises InvalidTopology for a CPU that is named twice or an id below 0.
    """
    return _numa_topology(tuple(cpus))


@lru_cache(maxsize=256)
def _numa_topology(cpus: tuple[Cpu, ...]) -> NumaTopology:
    """Cached, because the machines of a cluster are of few kinds."""
    repeated = [cpu for cpu, times in Counter(each.cpu for each in cpus).items() if times > 1]
    if repeated:
        raise InvalidTopology(f"CPU {repeated[0]} is in the topology more than once")
    cores: defaultdict[int, defaultdict[tuple[int, int], set[int]]] = defaultdict(lambda: defaultdict(set))
    for each in cpus:
        if min(each.cpu, each.core, each.socket, each.numa) < 0:
            raise InvalidTopology(f"CPU {each.cpu} has an id below 0 in the topology")
        cores[each.numa][each.socket, each.core].add(each.cpu)
    return NumaTopology(
        tuple(
            _numa_node(
                numa, [frozenset(by_core[key]) for key in sorted(by_core)], [key[0] for key in sorted(by_core)]
            )
            for numa, by_core in sorted(cores.items())
        )
    )


def _numa_node(numa_node: int, cores: Sequence[frozenset[int]], sockets: Sequence[int]) -> NumaNode:
    cpus = frozenset[int]().union(*cores)
    cpusets = tuple(map(format_cpuset, cores))
    return NumaNode(numa_node, cpus, tuple(cores), format_cpuset(cpus), cpusets, tuple(sockets))


def lowest_cpus(topology: NumaTopology, count: int) -> frozenset[int]:
    """Return the CPUs that the kubelet reserves if only an amount is configured (rules: cpu-checkpoint).

    It takes whole cores from the lowest NUMA node, package and core on, then single threads of the next core.
    Kubernetes: pkg/kubelet/cm/cpumanager/{policy_static,cpu_assignment}.go, on a machine with nothing allocated.
    """
    taken: list[int] = []
    for node in topology.numa_nodes:
        for core in node.cores:
            taken.extend(sorted(core))
    return frozenset(taken[: max(0, count)])


def whole_cpus(millicores: int) -> int:
    return -(-millicores // 1000)


def lump_topology(cpus: int) -> NumaTopology:
    """Return a topology with this many CPUs on one NUMA node."""
    cores = tuple(frozenset({cpu}) for cpu in range(cpus))
    return NumaTopology((NumaNode(0, frozenset(range(cpus)), cores, "", ()),))
