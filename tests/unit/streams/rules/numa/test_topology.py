"""NUMA nodes, physical cores and reserved CPUs of a machine (rules: cpu-checkpoint, cpu-topology)."""

import pytest

from ingest.model.machine import Cpu
from streams.rules.numa.topology import InvalidTopology, lowest_cpus, numa_topology, whole_cpus


def machine(*cpus: tuple[int, int, int, int]) -> list[Cpu]:
    return [Cpu(cpu=cpu, core=core, socket=socket, numa=numa) for cpu, core, socket, numa in cpus]


INTERLEAVED = machine(
    (0, 0, 0, 0), (4, 0, 0, 0), (2, 1, 0, 0), (6, 1, 0, 0), (1, 0, 1, 1), (5, 0, 1, 1), (3, 1, 1, 1), (7, 1, 1, 1)
)


def test_cores_are_keyed_by_package_because_core_ids_repeat() -> None:
    topology = numa_topology(INTERLEAVED)
    assert [node.cores for node in topology.numa_nodes] == [
        (frozenset({0, 4}), frozenset({2, 6})),
        (frozenset({1, 5}), frozenset({3, 7})),
    ]
    assert topology.threads_per_core == 2
    assert topology.numa_nodes_of(frozenset({4, 5})) == (0, 1)


def test_numa_node_ids_can_be_sparse_and_one_without_cpus_does_not_appear() -> None:
    topology = numa_topology(machine((0, 0, 0, 4), (1, 1, 0, 9)))
    assert [node.numa_node for node in topology.numa_nodes] == [4, 9]


@pytest.mark.parametrize("bad", [(0, 0, 0, 1), (3, -1, 0, 0), (3, 0, 0, -1)])
def test_cpus_that_cannot_belong_to_one_machine_are_refused(bad: tuple[int, int, int, int]) -> None:
    with pytest.raises(InvalidTopology):
        numa_topology(machine((0, 0, 0, 0), bad))


@pytest.mark.parametrize(
    ("millicores", "expected"),
    [(0, set()), (1, {0}), (1000, {0}), (1001, {0, 4}), (2500, {0, 4, 2}), (4001, {0, 4, 2, 6, 1})],
)
def test_an_amount_reserves_the_lowest_cores_rounded_up_to_cpus(millicores: int, expected: set[int]) -> None:
    assert lowest_cpus(numa_topology(INTERLEAVED), whole_cpus(millicores)) == expected
    assert whole_cpus(millicores) == len(expected)
