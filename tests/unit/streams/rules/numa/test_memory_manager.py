"""A container's memory is reserved on NUMA nodes, reasoned from pkg/kubelet/cm/memorymanager/policy_static.go."""

import pytest

from streams.rules.numa.hints import Hint
from streams.rules.numa.memory_checkpoint import MemoryBlock, MemoryManagerState, MemoryNode, MemoryTable
from streams.rules.numa.memory_manager import NoMemory, memory_affinity, reserve, without_pods
from streams.rules.numa.topology import numa_topology
from streams.rules.numa.topology_manager import Devices, Machine, Request, Settings, admit

MEMORY = "memory"
A, B, BOTH = frozenset({0}), frozenset({1}), frozenset({0, 1})


def node(free: int, assignments: int = 0, *cells: int) -> MemoryNode:
    """100 allocatable bytes."""
    return MemoryNode(assignments, {MEMORY: MemoryTable(110, 10, 100, 100 - free, free)}, cells)


def free(machine: dict[int, MemoryNode]) -> dict[int, int]:
    return {numa: each.tables[MEMORY].free for numa, each in machine.items()}


def test_a_sufficient_hint_is_followed() -> None:
    assert memory_affinity({0: node(100), 1: node(100)}, {MEMORY: 30}, Hint(B, preferred=True)) == B


def test_without_a_hint_the_managers_narrowest_one_is_taken() -> None:
    assert memory_affinity({0: node(20), 1: node(80)}, {MEMORY: 30}, Hint(None, preferred=False)) == B


def test_among_groups_of_equal_size_the_lowest_bit_mask_wins() -> None:
    """The kubelet compares masks, 0110 before 1001 (pkg/kubelet/cm/topologymanager/bitmask, IsNarrowerThan)."""
    machine = {0: node(40), 1: node(10, 1, 1, 2), 2: node(50, 1, 1, 2), 3: node(40)}
    assert memory_affinity(machine, {MEMORY: 60}, Hint(None, preferred=False)) == {1, 2}


def test_a_hint_that_is_too_small_is_widened() -> None:
    assert memory_affinity({0: node(80), 1: node(80)}, {MEMORY: 130}, Hint(A, preferred=False)) == BOTH


@pytest.mark.parametrize(
    ("machine", "size", "hint", "words"),
    [
        (
            {0: node(20), 1: node(20)},
            50,
            Hint(None, preferred=False),
            "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available",
        ),
        (
            {0: node(20), 1: node(20)},
            50,
            Hint(A, preferred=True),
            "failed to find NUMA nodes to extend the current topology hint",
        ),
        # An empty machine would need one NUMA node for 90 bytes, so that two are not preferred.
        ({0: node(60), 1: node(60)}, 90, Hint(None, preferred=True), "failed to find the default preferred hint"),
        ({0: node(60), 1: node(60)}, 90, Hint(A, preferred=True), "failed to find the extended preferred hint"),
        # NUMA node 0 serves a container alone, so that it can join no group.
        (
            {0: node(80, 1, 0), 1: node(80)},
            90,
            Hint(BOTH, preferred=False),
            "preferred hint violates NUMA node allocation",
        ),
    ],
)
def test_memory_that_cannot_be_reserved_fails_in_the_kubelets_words(
    machine: dict[int, MemoryNode], size: int, hint: Hint, words: str
) -> None:
    with pytest.raises(NoMemory) as caught:
        memory_affinity(machine, {MEMORY: size}, hint)
    assert str(caught.value) == f"[memorymanager] {words}"


def test_memory_over_two_numa_nodes_makes_them_a_group() -> None:
    machine = {0: node(80), 1: node(80)}
    after = reserve(machine, BOTH, {MEMORY: 100})
    assert free(after) == {0: 0, 1: 60}
    assert [(each.assignments, each.cells) for each in after.values()] == [(1, (0, 1)), (1, (0, 1))]
    assert free(machine) == {0: 80, 1: 80}, "the machine before is not changed"


def state(**entries: tuple[MemoryBlock, ...]) -> MemoryManagerState:
    machine: dict[int, MemoryNode] = {0: node(100), 1: node(100)}
    for blocks in entries.values():
        for block in blocks:
            machine = reserve(machine, frozenset(block.numa_nodes), {block.type: block.size_bytes})
    return MemoryManagerState("Static", machine, {uid: {"c": blocks} for uid, blocks in entries.items()}, {}, 1)


def test_deleted_pods_release_their_memory() -> None:
    held = state(gone=(MemoryBlock((0,), MEMORY, 30),), here=(MemoryBlock((0,), MEMORY, 20),))
    left = without_pods(held, {"gone", "unknown"})
    assert free(left.machine) == {0: 80, 1: 100}
    assert left.machine[0].assignments == 1
    assert left.entries.keys() == {"here"}
    assert left == state(here=(MemoryBlock((0,), MEMORY, 20),))


def test_releasing_the_last_block_dissolves_a_group() -> None:
    left = without_pods(state(gone=(MemoryBlock((0, 1), MEMORY, 130),)), {"gone"})
    assert free(left.machine) == {0: 100, 1: 100}
    assert [(each.assignments, each.cells) for each in left.machine.values()] == [(0, (0,)), (0, (1,))]


def test_an_entry_for_an_unknown_numa_node_takes_nothing() -> None:
    wrong = state()._replace(
        entries={"gone": {"c": (MemoryBlock((7,), "hugepages-2Mi", 5), MemoryBlock((0,), "x", 5))}}
    )
    assert free(without_pods(wrong, {"gone"}).machine) == {0: 100, 1: 100}


def test_devices_come_from_the_hint_first_and_then_from_elsewhere() -> None:
    machine = Machine(numa_topology([]), frozenset(), devices={"card": Devices({0: 2, 1: 2}, {0: 2, 1: 1})})
    left = admit(machine, Settings(), [Request(devices={"card": 2, "other": 1})]).machine
    assert left.devices == {"card": Devices({0: 2, 1: 2}, {0: 0, 1: 1})}
