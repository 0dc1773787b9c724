"""Hints, their merging and the kubelet's admission (rules: memory-checkpoint, topology-manager).

Expected hints follow the kubelet's own rules (rules: topology-manager) and the cited files, worked out by hand.
"""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.model.machine import Cpu
from streams.rules.numa.cpu_assignment import StaticPolicyOptions, take_cpus
from streams.rules.numa.hints import Hint, Hints, affinities, amount_hints, memory_hints, merge
from streams.rules.numa.memory_checkpoint import MemoryNode, MemoryTable
from streams.rules.numa.topology import numa_topology
from streams.rules.numa.topology_manager import Devices, Machine, Policy, Request, Scope, Settings, admit

A, B, BOTH = frozenset({0}), frozenset({1}), frozenset({0, 1})
MACHINE = numa_topology([Cpu(cpu=c, core=c % 8 // 2, socket=c // 8, numa=c // 8) for c in range(16)])
"""Two NUMA nodes of 4 cores with 2 threads: 0-7 and 8-15; siblings are neighbours."""
ALL = frozenset(range(16))
SINGLE = Settings(topology_policy="single-numa-node")


def hint(preferred: bool, *numa_nodes: int) -> Hint:
    return Hint(frozenset(numa_nodes), preferred)


def test_hints_as_small_as_on_an_empty_machine_are_preferred() -> None:
    total = {0: 8, 1: 8}
    assert amount_hints(total, {0: 8, 1: 2}, 4) == (hint(True, 0), hint(False, 0, 1))
    assert amount_hints(total, {0: 3, 1: 3}, 4) == (hint(False, 0, 1),)
    assert amount_hints(total, {0: 8, 1: 8}, 10) == (hint(True, 0, 1),)
    assert amount_hints(total, {0: 1, 1: 1}, 4) == ()
    assert amount_hints(total, total, 0) is None


def memory(*nodes: tuple[int, int, tuple[int, ...]]) -> dict[int, MemoryNode]:
    """Nodes of 100 allocatable bytes: (free, assignments, cells)."""
    return {
        numa: MemoryNode(assignments, {"memory": MemoryTable(110, 10, 100, 100 - free, free)}, cells)
        for numa, (free, assignments, cells) in enumerate(nodes)
    }


def test_memory_of_a_numa_node_in_a_group_serves_no_container_alone() -> None:
    grouped = memory((90, 1, (0, 1)), (90, 1, (0, 1)), (90, 0, (2,)))
    assert memory_hints(grouped, {"memory": 50}) == (hint(True, 2), hint(False, 0, 1))


def test_memory_of_a_numa_node_in_use_joins_no_group() -> None:
    used = memory((90, 1, (0,)), (90, 0, (1,)), (90, 0, (2,)))
    assert memory_hints(used, {"memory": 150}) == (hint(True, 1, 2),)
    assert memory_hints(used, {"memory": 0}) is None


def test_a_memory_hint_needs_every_requested_type() -> None:
    assert memory_hints(memory((90, 0, (0,)), (90, 0, (1,))), {"memory": 10, "hugepages-2Mi": 2}) == ()


def test_affinities_are_all_subsets_with_small_ones_first() -> None:
    assert list(affinities([2, 0])) == [frozenset({0}), frozenset({2}), frozenset({0, 2})]


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([None, None], Hint(BOTH, preferred=True)),
        ([(hint(True, 0), hint(True, 1)), None], Hint(A, preferred=True)),
        ([(hint(True, 0), hint(True, 1)), (hint(True, 1),)], Hint(B, preferred=True)),
        ([(hint(True, 0),), (hint(True, 1),)], Hint(BOTH, preferred=False)),
        ([(hint(True, 0),), (hint(True, 0, 1),)], Hint(A, preferred=False)),
        ([(hint(True, 0),), ()], Hint(A, preferred=False)),
        ([(hint(False, 0, 1),)], Hint(BOTH, preferred=False)),
    ],
)
def test_hints_merge_to_the_narrowest_preferred_one(resources: list[Hints], expected: Hint) -> None:
    assert merge([0, 1], resources) == expected


def test_among_hints_that_are_not_preferred_the_width_of_the_most_demanding_resource_wins() -> None:
    wide = tuple(hint(False, *a) for a in affinities(range(3)) if len(a) >= 2)
    narrow = tuple(hint(False, *a) for a in affinities(range(3)))
    assert merge(range(3), [wide, narrow]) == hint(False, 0, 1)


def test_single_numa_node_uses_only_preferred_hints_of_one_numa_node() -> None:
    assert merge([0, 1], [(hint(False, 0), hint(True, 0, 1))], single_numa=True) == Hint(BOTH, preferred=False)
    assert merge([0, 1], [None], single_numa=True) == Hint(None, preferred=True)
    assert merge([0, 1], [(hint(True, 1),)], single_numa=True) == Hint(B, preferred=True)


def test_with_the_option_the_closest_of_equally_many_numa_nodes_win() -> None:
    pairs = tuple(hint(True, *a) for a in affinities(range(4)) if len(a) == 2)
    distances = {a: {b: 10 if a == b else 12 if {a, b} == {2, 3} else 30 for b in range(4)} for a in range(4)}
    assert merge(range(4), [pairs]) == hint(True, 0, 1)
    assert merge(range(4), [pairs], distances=distances) == hint(True, 2, 3)


hints = st.lists(
    st.builds(Hint, st.sets(st.integers(0, 2), min_size=1).map(frozenset), st.booleans()), max_size=4
).map(tuple)


@given(st.lists(st.one_of(st.none(), hints), min_size=1, max_size=3))
def test_merging_finds_what_trying_every_permutation_finds(resources: list[Hints]) -> None:
    everything = frozenset(range(3))
    options = [each or (Hint(None, each is None),) for each in resources]
    merged = set()
    for permutation in product(*options):
        opinions = [each.affinity for each in permutation if each.affinity is not None]
        common = everything.intersection(*opinions)
        agree = all(each.preferred for each in permutation) and len(set(opinions)) <= 1
        if common:
            merged.add(Hint(common, agree))
    found = merge(range(3), resources)
    preferred = [each for each in merged if each.preferred]
    if preferred:
        assert found.preferred
        assert len(found.affinity or ()) == min(len(each.affinity or ()) for each in preferred)
    assert found in merged if merged else found == Hint(everything, preferred=False)


@pytest.mark.parametrize(
    ("policy", "admitted"),
    [("none", True), ("best-effort", True), ("restricted", False), ("single-numa-node", False)],
)
def test_a_container_that_only_fits_two_numa_nodes_is_refused_by_strict_policies(
    policy: Policy, admitted: bool
) -> None:
    machine = Machine(MACHINE, ALL - {0, 1, 2, 8, 9, 10})
    found = admit(machine, Settings(topology_policy=policy), [Request(cpus=6)])
    assert found.admitted == admitted
    assert (found.reason, found.message) == (
        ("", "") if admitted else ("TopologyAffinityError", "Resources cannot be allocated with Topology locality")
    )


@pytest.mark.parametrize(("policy", "admitted"), [("restricted", True), ("single-numa-node", False)])
def test_a_container_wider_than_a_numa_node_is_preferred_on_two_but_never_single(
    policy: Policy, admitted: bool
) -> None:
    assert admit(Machine(MACHINE, ALL), Settings(topology_policy=policy), [Request(cpus=10)]).admitted == admitted


@pytest.mark.parametrize(("scope", "admitted"), [("container", True), ("pod", False)])
def test_scope_pod_aligns_the_sum_of_the_containers(scope: Scope, admitted: bool) -> None:
    machine = Machine(MACHINE, ALL - {0, 8})
    found = admit(machine, SINGLE._replace(topology_scope=scope), [Request(cpus=4), Request(cpus=4)])
    assert found.admitted == admitted


def test_each_container_sees_what_the_one_before_it_left() -> None:
    machine = Machine(MACHINE, frozenset(range(4)) | {8, 9})
    found = admit(machine, SINGLE, [Request(cpus=4), Request(cpus=2)])
    assert found.cpus == (frozenset({0, 1, 2, 3}), frozenset({8, 9}))
    assert not admit(machine, SINGLE, [Request(cpus=4), Request(cpus=3)]).admitted


def test_devices_pull_the_container_to_their_numa_node() -> None:
    machine = Machine(MACHINE, ALL, devices={"gpu": Devices({0: 1, 1: 1}, {1: 1})})
    assert admit(machine, SINGLE, [Request(cpus=2, devices={"gpu": 1})]).cpus == (frozenset({8, 9}),)
    crowded = machine._replace(free=frozenset(range(8)))
    assert admit(crowded, SINGLE, [Request(cpus=2, devices={"gpu": 1})]).reason == "TopologyAffinityError"


def test_memory_must_be_on_the_numa_node_of_the_cpus() -> None:
    machine = Machine(MACHINE, frozenset(range(8)), memory=memory((5, 0, (0,)), (90, 0, (1,))))
    asked = Request(cpus=2, memory_bytes={"memory": 50})
    assert admit(machine, SINGLE, [asked]).reason == "TopologyAffinityError"


@pytest.mark.parametrize(
    ("cpus", "message"),
    [
        (3, "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"),
        (
            4,
            (
                "SMT Alignment Error: not enough free physical CPUs: "
                "available physical CPUs = 3, requested CPUs = 4, CPUs per core = 2"
            ),
        ),
    ],
)
def test_full_pcpus_only_refuses_in_the_kubelets_words(cpus: int, message: str) -> None:
    # The cores of the reserved CPUs, 2-3 and 4-5, are left out; of core 6-7 one CPU is in use.
    machine = Machine(MACHINE, frozenset({0, 1, 2, 4, 6}), reserved=frozenset({3, 5}))
    found = admit(machine, Settings(assignment=StaticPolicyOptions(whole_cores=True)), [Request(cpus=cpus)])
    assert (found.admitted, found.reason, found.message) == (False, "SMTAlignmentError", message)


def test_too_few_cpus_are_an_unexpected_admission_error() -> None:
    found = admit(Machine(MACHINE, frozenset({0, 1})), Settings(), [Request(cpus=4)])
    assert found.reason == "UnexpectedAdmissionError"
    assert "requested=4, available=2" in found.message


def test_a_shared_container_is_never_refused_for_cpus() -> None:
    assert admit(Machine(MACHINE, frozenset()), SINGLE, [Request()]).admitted
    assert admit(Machine(MACHINE, frozenset()), SINGLE._replace(cpu_policy="none"), [Request(cpus=4)]).admitted


def test_more_than_eight_numa_nodes_need_max_allowable_numa_nodes() -> None:
    large = numa_topology([Cpu(cpu=c, core=c, socket=0, numa=c) for c in range(9)])
    machine = Machine(large, frozenset(range(9)))
    found = admit(machine, SINGLE, [Request(cpus=1)])
    assert (found.admitted, found.reason) == (False, "")
    assert "more than 8 NUMA Nodes" in found.message
    assert admit(machine, SINGLE._replace(max_numa_nodes=9), [Request(cpus=1)]).admitted
    assert admit(machine, Settings(), [Request(cpus=1)]).admitted


@pytest.mark.parametrize(
    ("free", "count", "affinity", "expected"),
    [
        (ALL, 8, None, set(range(8))),
        (ALL, 3, None, {0, 1, 2}),
        (ALL - {0}, 2, A, {2, 3}),
        (ALL - {0}, 1, A, {1}),
        (ALL - {0, 1}, 2, None, {2, 3}),
        (ALL, 10, A, set(range(10))),
    ],
)
def test_the_static_policy_takes_whole_numa_nodes_then_cores_then_threads(
    free: frozenset[int], count: int, affinity: frozenset[int] | None, expected: set[int]
) -> None:
    assert take_cpus(MACHINE, free, count, affinity, StaticPolicyOptions()) == expected


@given(st.sets(st.integers(0, 15)).map(frozenset), st.data())
def test_taken_cpus_are_free_and_as_many_as_requested(free: frozenset[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(free)))
    taken = take_cpus(MACHINE, free, count, data.draw(st.sampled_from([None, A, B, BOTH])), StaticPolicyOptions())
    assert len(taken) == count
    assert taken <= free


def test_an_app_container_must_stay_where_its_init_container_got_cpus() -> None:
    """kubernetes#123816: the init container takes a CPU of NUMA node 0, where too few are left for the app container,
    and no hint of NUMA node 1 alone has that CPU.
    """
    machine = Machine(MACHINE, frozenset(ALL) - frozenset(range(6)))
    alone, after_init = [Request(cpus=8)], [Request(cpus=1, is_init=True), Request(cpus=8)]
    assert admit(machine, SINGLE, alone).cpus == (frozenset(range(8, 16)),)
    assert admit(machine, SINGLE, after_init).reason == "TopologyAffinityError"
    assert admit(machine, SINGLE._replace(topology_policy="best-effort"), after_init).admitted


def test_cpus_of_an_init_container_are_taken_over_or_freed() -> None:
    found = admit(Machine(MACHINE, ALL), SINGLE, [Request(cpus=4, is_init=True), Request(cpus=2)])
    first, second = found.cpus
    assert second <= first
    assert found.machine.free == ALL - second


def test_a_sidecar_keeps_its_cpus() -> None:
    found = admit(Machine(MACHINE, ALL), SINGLE, [Request(cpus=4), Request(cpus=2)])
    assert not found.cpus[0] & found.cpus[1]


def test_a_pod_needs_room_for_an_init_container_beside_the_sidecars_before_it() -> None:
    """podGuaranteedCPUs: 2 of the sidecar and 6 of the init container, where 7 are free on either side."""
    machine = Machine(MACHINE, ALL - {0, 8})
    sidecar, init, app = Request(cpus=2), Request(cpus=6, is_init=True), Request(cpus=1)
    of_pod = SINGLE._replace(topology_scope="pod")
    assert admit(machine, of_pod, [sidecar, init, app]).reason == "TopologyAffinityError"
    assert admit(machine, of_pod, [init, sidecar, app]).admitted
    assert admit(Machine(MACHINE, ALL), of_pod, [sidecar, init, app]).admitted


def test_a_device_of_an_init_container_is_taken_over() -> None:
    machine = Machine(MACHINE, ALL, devices={"gpu": Devices({0: 1, 1: 1}, {0: 1, 1: 1})})
    found = admit(machine, SINGLE, [Request(devices={"gpu": 1}, is_init=True), Request(devices={"gpu": 1})])
    assert found.machine.devices["gpu"].available == {0: 0, 1: 1}
