"""A machine and a kubelet's settings from what was told, and what a pod leaves of the machine."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.rules.numa.consume import consume
from streams.rules.numa.memory_checkpoint import MemoryNode, MemoryTable
from streams.rules.numa.topology_manager import Devices, Machine, Request, Settings
from streams.rules.scheduling.fit_machine import NumaCpus, Policies, machine_of, options_not_followed, settings_of

GIB = 1 << 30


def test_cpu_ids_are_kept_as_they_are() -> None:
    part = NumaCpus(2, 4, 1, 2, frozenset({8}), (frozenset({0, 8}), frozenset({2, 10})))
    machine = machine_of([part], {}, {})
    assert machine is not None
    assert [(node.numa_node, node.cores) for node in machine.topology.numa_nodes] == [(2, part.core_cpus)]
    assert machine.free == {8}


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.sampled_from([1, 2, 4]), st.integers(0, 40)),
        min_size=1,
        max_size=4,
    )
)
def test_counts_make_a_machine_with_those_counts(parts: list[tuple[int, int, int]]) -> None:
    told = [
        NumaCpus(numa, cores * threads, min(free, cores * threads), cores)
        for numa, (cores, threads, free) in enumerate(parts)
    ]
    machine = machine_of(told, {}, {})
    assert machine is not None
    for node, part in zip(machine.topology.numa_nodes, told, strict=True):
        assert (node.numa_node, len(node.cpus), len(node.cores)) == (part.numa_node, part.cpus, part.cores)
        assert len(node.cpus & machine.free) == part.free_cpus
        # Those that are free are taken to be whole cores, as far as their number allows.
        whole = sum(core <= machine.free for core in node.cores)
        assert whole == (part.free_cpus or 0) // max(map(len, node.cores))


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [NumaCpus(0, 8, None)],
        [NumaCpus(0, 8, 8), NumaCpus(1, None, None)],
        [NumaCpus(0, 1, 1, 1, frozenset(), (frozenset({0}),)), NumaCpus(1, 1, 1, 1, frozenset(), (frozenset({0}),))],
    ],
)
def test_what_is_not_known_or_cannot_be_is_no_machine(parts: list[NumaCpus]) -> None:
    assert machine_of(parts, {}, {}) is None


def test_settings_that_were_told_are_the_only_ones() -> None:
    told = Policies("static", "restricted", "pod", {"full-pcpus-only": "true"}, {"prefer-closest-numa-nodes": "true"})
    assert settings_of(told) == (Settings("restricted", "pod", full_pcpus_only=True),)
    assert [each.split()[1] for each in options_not_followed(told)] == ["prefer-closest-numa-nodes"]
    off = told._replace(cpu_options={"full-pcpus-only": "false"}, topology_options={"max-allowable-numa-nodes": "x"})
    assert settings_of(off) == (Settings("restricted", "pod"),)
    assert list(options_not_followed(off)) == []


def test_settings_that_were_not_told_are_the_laxest_and_the_strictest() -> None:
    strictest = Settings("single-numa-node", full_pcpus_only=True)
    assert settings_of(Policies()) == (Settings(), strictest, Settings(cpu_policy="none"))
    assert settings_of(Policies("static")) == (Settings(), strictest)
    assert settings_of(Policies("static", "best-effort")) == (
        Settings("best-effort"),
        Settings("best-effort", full_pcpus_only=True),
    )
    assert settings_of(Policies("none", "none", "container", {}, {})) == (Settings(cpu_policy="none"),)


def memory_node(free_gib: int) -> MemoryNode:
    table = MemoryTable(8 * GIB, 0, 8 * GIB, (8 - free_gib) * GIB, free_gib * GIB)
    return MemoryNode(0, {"memory": table}, ())


def of(**values: Any) -> Machine:
    machine = machine_of([NumaCpus(0, 4, 4), NumaCpus(1, 4, 4)], {}, {})
    assert machine is not None
    return machine._replace(**values)


def free_memory(machine: Machine) -> dict[int, int]:
    return {numa: node.tables["memory"].free // GIB for numa, node in machine.memory.items()}


def test_memory_is_taken_from_the_numa_nodes_of_the_hint() -> None:
    machine = of(memory={0: memory_node(8), 1: memory_node(8)})
    left = consume(machine, [Request(memory_bytes={"memory": 3 * GIB})], frozenset({0, 1}), frozenset({1}))
    assert free_memory(left) == {0: 8, 1: 5}
    assert left.memory[1].assignments == 1
    assert left.free == machine.free - {0, 1}
    # rules: memory-checkpoint: free = allocatable - reserved.
    table = left.memory[1].tables["memory"]
    assert table.free == table.allocatable - table.reserved
    assert free_memory(machine) == {0: 8, 1: 8}, "the machine before is not changed"


def test_memory_over_two_numa_nodes_makes_them_a_group() -> None:
    machine = of(memory={0: memory_node(8), 1: memory_node(8)})
    left = consume(machine, [Request(memory_bytes={"memory": 10 * GIB})], frozenset(), frozenset({0, 1}))
    assert free_memory(left) == {0: 0, 1: 6}
    assert [node.cells for node in left.memory.values()] == [(0, 1), (0, 1)]


def test_without_a_hint_the_memory_manager_takes_its_own_narrowest() -> None:
    machine = of(memory={0: memory_node(2), 1: memory_node(8)})
    left = consume(machine, [Request(memory_bytes={"memory": 3 * GIB})], frozenset(), None)
    assert free_memory(left) == {0: 2, 1: 5}


def test_devices_come_from_the_hint_first_and_then_from_elsewhere() -> None:
    machine = of(devices={"card": Devices({0: 2, 1: 2}, {0: 2, 1: 1})})
    left = consume(machine, [Request(devices={"card": 2, "other": 1})], frozenset(), frozenset({1}))
    assert left.devices == {"card": Devices({0: 2, 1: 2}, {0: 1, 1: 0})}
