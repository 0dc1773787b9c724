"""Nodes take a pod by the scheduler's words and the kubelet's admission, also several, and unknowns are named."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import astuple

from fakes.admission import kubelet_judgement
from ingest.model.machine import Cpu
from leadsman.cli.present.fit import fit_columns
from profiles import EXAMPLES
from streams.questions.fit import Answer, Candidate, answer
from streams.questions.fit_request import BadFitRequest, FitRequest, fit_request, pod_of
from streams.rules.numa.cpu_assignment import StaticPolicyOptions
from streams.rules.numa.memory_checkpoint import MemoryNode, MemoryTable
from streams.rules.numa.topology import numa_topology
from streams.rules.numa.topology_manager import Devices, Machine, Policy, Settings
from streams.rules.scheduling.filters import NodeState, taint_text
from streams.rules.scheduling.fit import Judgement, rooms, take

GIB = 1 << 30
MINOR = 30
SINGLE = Settings("single-numa-node")
WHOLE_CORES = SINGLE._replace(assignment=StaticPolicyOptions(whole_cores=True))


def machine(*cores_of_numa: int, threads: int = 2, used: frozenset[int] = frozenset(), **values: Any) -> Machine:
    """NUMA nodes of so many cores each; CPU ids count up core by core."""
    cpus = [
        Cpu(cpu=cpu, core=core, socket=numa, numa=numa)
        for numa, cores in enumerate(cores_of_numa)
        for core in range(cores)
        for cpu in range(
            (sum(cores_of_numa[:numa]) + core) * threads, (sum(cores_of_numa[:numa]) + core + 1) * threads
        )
    ]
    topology = numa_topology(cpus)
    return Machine(topology, topology.cpus - used, **values)


def state(of: Machine | None, *kubelet: Settings, **values: Any) -> NodeState:
    amounts = {"cpu": 64_000, "memory": 256 * GIB, "pods": 110, "example.com/card": 8}
    return NodeState("n", amounts, {}, 0, machine=of, settings=kubelet or (Settings(),), **values)


def asked(cpus: int, memory_bytes: int = 0, **values: Any) -> FitRequest:
    return FitRequest(cpus * 1000, memory_bytes, exclusive=True, **values)


def judged(node: NodeState, of: FitRequest) -> Judgement:
    return take(node, pod_of(of), MINOR, 1)[0]


# The scheduler.


def test_a_resource_that_does_not_suffice_is_reported_in_the_schedulers_words() -> None:
    # rules: scheduler-fit: "Too many pods", "Insufficient cpu|memory|ephemeral-storage|<name>".
    node = state(None)._replace(requested={"cpu": 60_000, "memory": 250 * GIB}, pods=110)
    want = ("Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient example.com/gpu")
    found = judged(node, FitRequest(5000, 8 * GIB, devices={"example.com/gpu": 1}))
    assert (found.verdict, found.reasons) == ("refused_by_scheduler", want)


def test_each_shortage_has_what_is_requested_used_and_there() -> None:
    """Source: InsufficientResource of `fits.go` has Requested, Used and Capacity. What fits has none."""
    node = state(None)._replace(requested={"cpu": 60_000, "memory": 250 * GIB}, pods=110)
    want = FitRequest(5000, 6 * GIB, devices={"example.com/card": 9})
    asked_of = answer(want, [Candidate(node)], {}, MINOR)
    assert {name: astuple(each) for name, each in asked_of.nodes[0].insufficient.items()} == {
        "pods": (1, 110, 110),
        "cpu": (5000, 60_000, 64_000),
        "example.com/card": (9, 0, 8),
    }
    why = str(fit_columns(asked_of)[-1])
    assert "110 of 110 pods are there; it requests 5 CPUs, the pods there 60 of 64 CPUs; it requests 9 example" in why
    fitting = answer(FitRequest(4000, 6 * GIB), [Candidate(node._replace(pods=109))], {}, MINOR)
    assert (fitting.nodes[0].verdict, fitting.nodes[0].insufficient) == ("fits", {})


def test_a_cordoned_node_is_unschedulable_once_though_it_has_the_taint_too() -> None:
    node = state(machine(4), unschedulable=True, taints=("node.kubernetes.io/unschedulable=:NoSchedule",))
    assert judged(node, asked(1)).reasons == ("node(s) were unschedulable",)


def test_a_taint_that_only_prefers_keeps_no_pod_away() -> None:
    assert judged(state(machine(4), taints=("a=b:PreferNoSchedule",)), asked(1)).verdict == "fits"


@pytest.mark.parametrize(
    ("minor", "words"),
    [
        (17, "node(s) had taints that the pod didn't tolerate"),
        (18, "node(s) had taint {gpu: yes}, that the pod didn't tolerate"),
        (23, "node(s) had taint {gpu: yes}, that the pod didn't tolerate"),
        (24, "node(s) had untolerated taint {gpu: yes}"),
        (33, "node(s) had untolerated taint {gpu: yes}"),
        (34, "node(s) had untolerated taint(s)"),
    ],
)
def test_a_taint_is_reported_in_the_words_of_the_schedulers_version(minor: int, words: str) -> None:
    # The table of reasons (rules: scheduler-messages).
    assert taint_text("gpu", "yes", minor) == words
    node = state(machine(4), taints=("gpu=yes:NoExecute", "gpu=yes:NoSchedule"))
    assert take(node, pod_of(asked(1)), minor, 1)[0].reasons == (words,)


# The kubelet (rules: exclusive-cpus).


def test_single_numa_node_refuses_what_no_numa_node_has_free_although_the_node_does() -> None:
    split = machine(4, 4, used=frozenset({0, 1, 8, 9}))  # 6 of 8 CPUs free on each
    found = judged(state(split, SINGLE), asked(8))
    assert found.verdict == "refused_by_kubelet"
    assert found.reasons == ("TopologyAffinityError: Resources cannot be allocated with Topology locality",)
    assert found.hint is not None
    assert not found.hint.preferred
    assert judged(state(split, Settings("none")), asked(8)).verdict == "fits"


def test_best_effort_admits_what_is_not_aligned_with_a_hint_that_is_not_preferred() -> None:
    split = machine(4, 4, used=frozenset({0, 1, 8, 9}))
    found = judged(state(split, Settings("best-effort")), asked(8))
    assert (found.verdict, found.numa_nodes) == ("fits", (0, 1))
    assert found.hint == (frozenset({0, 1}), False)


def test_restricted_admits_what_needs_two_numa_nodes_even_on_an_empty_machine() -> None:
    split = machine(4, 4, used=frozenset({0, 1}))
    assert judged(state(split, Settings("restricted")), asked(10)).verdict == "fits"
    assert judged(state(split, SINGLE), asked(10)).verdict == "refused_by_kubelet"
    crowded = machine(4, 4, used=frozenset({0, 1, 8, 9}))
    assert judged(state(crowded, Settings("restricted")), asked(8)).verdict == "refused_by_kubelet"


def test_full_pcpus_only_refuses_a_part_of_a_core() -> None:
    found = judged(state(machine(4), WHOLE_CORES), asked(3))
    assert found.reasons[0].startswith("SMTAlignmentError: SMT Alignment Error: requested 3 cpus not multiple cpus")


def test_full_pcpus_only_gives_half_free_cores_but_not_those_of_reserved_cpus() -> None:
    # Cores 0-1, 2-3, 4-5, 6-7. CPU 0 is reserved, so core 0-1 is out; of 2-3 and 4-5 a container holds one each.
    half_free = machine(4, used=frozenset({0, 2, 4}), reserved=frozenset({0}))
    assert judged(state(half_free, WHOLE_CORES), asked(4)).verdict == "fits"
    text = "available physical CPUs = 4, requested CPUs = 6, CPUs per core = 2"
    anywhere = Settings(assignment=StaticPolicyOptions(whole_cores=True))
    assert judged(state(half_free, anywhere), asked(6)).reasons[0].endswith(text)


def test_a_kubelet_whose_cpu_manager_pins_nothing_takes_no_exclusive_pod() -> None:
    assert judged(state(machine(4), Settings(cpu_policy="none")), asked(1)).verdict == "not_exclusive"
    assert judged(state(machine(4), Settings(cpu_policy="none")), FitRequest(1000)).verdict == "fits"


@pytest.mark.parametrize("room", [machine(4), None])
def test_an_ordinary_guaranteed_pod_fits_where_the_kubelet_pins_nothing_and_says_so(room: Machine | None) -> None:
    node = state(room, Settings(cpu_policy="none"))
    ordinary = pod_of(asked(1))._replace(insists=False)
    first, pods, _ = take(node, ordinary, MINOR, 3)
    assert (first.verdict, pods) == ("fits", 3)
    assert first.note == "its CPUs are not pinned there: the CPU Manager's policy is none"
    assert take(node, pod_of(asked(1)), MINOR, 3)[0].verdict == "not_exclusive"


def test_scope_pod_needs_one_numa_node_for_all_containers_and_scope_container_one_for_each() -> None:
    empty, two = machine(2, 2), asked(3, containers=2)
    assert judged(state(empty, SINGLE), two).numa_nodes == (0, 1)
    assert judged(state(empty, SINGLE._replace(topology_scope="pod")), two).verdict == "refused_by_kubelet"
    assert judged(state(empty, SINGLE._replace(topology_scope="pod")), asked(2, containers=2)).numa_nodes == (0,)


def test_devices_on_another_numa_node_than_the_cpus_are_refused() -> None:
    cards = {"example.com/card": Devices({0: 0, 1: 2}, {0: 0, 1: 2})}
    crowded = machine(4, 4, used=frozenset(range(8, 16)), devices=cards)  # CPUs are free on NUMA node 0 only
    wants = asked(2, devices={"example.com/card": 1})
    assert judged(state(crowded, SINGLE), wants).verdict == "refused_by_kubelet"
    assert judged(state(machine(4, 4, devices=cards), SINGLE), wants).numa_nodes == (1,)


def memory(*free_gib: int, total_gib: int = 8) -> dict[int, MemoryNode]:
    return {
        numa: MemoryNode(
            0, {"memory": MemoryTable(total_gib * GIB, 0, total_gib * GIB, (total_gib - free) * GIB, free * GIB)}, ()
        )
        for numa, free in enumerate(free_gib)
    }


def test_memory_leads_the_cpus_to_the_numa_node_that_has_it() -> None:
    room = machine(4, 4, memory=memory(1, 8))
    assert judged(state(room, SINGLE), asked(2, 4 * GIB)).numa_nodes == (1,)
    assert (
        judged(state(machine(4, 4, memory=memory(1, 3)), SINGLE), asked(2, 4 * GIB)).verdict == "refused_by_kubelet"
    )


def test_memory_that_no_numa_nodes_have_fails_also_without_a_topology_policy() -> None:
    found = judged(state(machine(4, 4, memory=memory(1, 1)), Settings("none")), asked(2, 4 * GIB))
    assert found.reasons[0].startswith("UnexpectedAdmissionError")


def test_a_pod_that_is_not_guaranteed_asks_the_memory_manager_nothing() -> None:
    assert judged(state(machine(4, 4, memory=memory(1, 1)), SINGLE), FitRequest(2000, 4 * GIB)).verdict == "fits"


def test_best_effort_lets_a_pod_pass_whose_memory_no_numa_nodes_have_and_the_memory_manager_refuses_it() -> None:
    # The Topology Manager hears no opinion of a memory manager without hints, so even single-numa-node passes it.
    crowded = machine(4, 4, memory=memory(1, 3))
    for policy in (Settings("best-effort"), SINGLE, Settings("restricted")):
        found = judged(state(crowded, policy), asked(2, 6 * GIB))
        text = "[memorymanager] failed to find NUMA nodes to extend the current topology hint"
        assert found.reasons == (f"UnexpectedAdmissionError: Allocate failed due to {text}, which is unexpected",)


def test_where_the_caches_decide_between_numa_nodes_the_answer_names_none() -> None:
    cached = Settings("none", prefer_uncore_cache=True)
    found = judged(state(machine(4, 4), cached), asked(2))
    assert (found.verdict, found.numa_nodes) == ("fits", ())
    assert "prefer-align-cpus-by-uncorecache" in found.note
    assert judged(state(machine(4, 4), SINGLE._replace(prefer_uncore_cache=True)), asked(2)).numa_nodes == (0,)
    assert take(state(machine(4, 4), cached), pod_of(asked(2)), MINOR, 3)[1:] == (3, [])


# The kubelet alone.


@pytest.mark.parametrize(
    ("question_", "reason"),
    [
        (asked(3), "OutOfcpu: Node didn't have enough resource: cpu, requested: 3000, used: 62000, capacity: 64000"),
        # NUMA comes before the node's resources: 9 CPUs are on no NUMA node of 8.
        (asked(9), "TopologyAffinityError: Resources cannot be allocated with Topology locality"),
        (asked(2), ""),
    ],
)
def test_a_pod_that_no_scheduler_placed_is_refused_in_the_kubelets_words(question_: FitRequest, reason: str) -> None:
    node = state(machine(4, 4), SINGLE)._replace(requested={"cpu": 62_000})
    assert kubelet_judgement(node, pod_of(question_)).reasons == ((reason,) if reason else ())


def test_the_kubelet_counts_pods_first() -> None:
    node = state(machine(4, 4), SINGLE)._replace(requested={"cpu": 64_000}, pods=110)
    text = "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 110, capacity: 110"
    assert kubelet_judgement(node, pod_of(asked(1))).reasons == (text,)


# Each NUMA node.


def test_each_numa_node_reports_what_it_lacks() -> None:
    cards = {"example.com/card": Devices({0: 2, 1: 2}, {0: 0, 1: 2})}
    crowded = machine(4, 4, used=frozenset({0, 1, 2, 3, 4}), memory=memory(2, 8), devices=cards)
    node = state(crowded, WHOLE_CORES)
    found = rooms(node, pod_of(asked(4, 4 * GIB, devices={"example.com/card": 1})))
    assert [(room.numa_node, room.free_cpus, room.takes) for room in found] == [(0, 3, False), (1, 8, True)]
    assert found[0].lacks == (
        "3 of 4 CPUs free",
        "2.00 GiB of 4.00 GiB of memory free",
        "0 of 1 example.com/card free",
    )
    reserved = frozenset({0, 2})
    loose = state(machine(2, 2, used=reserved, reserved=reserved), WHOLE_CORES)
    assert rooms(loose, pod_of(asked(2)))[0].lacks == ("0 of 2 CPUs free on cores without reserved CPUs",)
    assert rooms(loose._replace(settings=(SINGLE,)), pod_of(asked(2)))[0].takes


# Several pods.


def test_pods_are_placed_one_after_the_other_until_one_is_refused() -> None:
    # Two NUMA nodes of 8 CPUs: 3 + 3 on each leave 2 and 2.
    first, taken, where = take(state(machine(4, 4), SINGLE), pod_of(asked(3)), MINOR, 9)
    assert (first.verdict, taken, where) == ("fits", 4, [0, 1])
    assert take(state(machine(4, 4), Settings("none")), pod_of(asked(3)), MINOR, 9)[1] == 5


def test_pods_use_up_the_schedulers_resources_too() -> None:
    node = state(machine(4, 4), SINGLE)._replace(allocatable={"cpu": 64_000, "memory": 10 * GIB, "pods": 2})
    assert take(node, pod_of(asked(1, GIB)), MINOR, 9)[1] == 2
    assert take(node, pod_of(asked(1, 6 * GIB)), MINOR, 9)[1] == 1


def test_pods_use_up_memory_and_devices_of_their_numa_nodes() -> None:
    cards = {"example.com/card": Devices({0: 3, 1: 1}, {0: 3, 1: 1})}
    node = state(machine(8, 8, memory=memory(8, 8), devices=cards), SINGLE)
    assert take(node, pod_of(asked(1, devices={"example.com/card": 1})), MINOR, 9)[1] == 4
    assert take(node, pod_of(asked(1, 3 * GIB)), MINOR, 9)[1] == 4


def test_nodes_add_up_to_no_more_than_was_asked() -> None:
    nodes = [Candidate(state(machine(4, 4), SINGLE)._replace(node=name)) for name in "ab"]
    assert (answer(asked(3, count=8), nodes, {}, MINOR).pods, answer(asked(3, count=8), nodes, {}, MINOR).fits) == (
        8,
        True,
    )
    more = answer(asked(3, count=9), nodes, {}, MINOR)
    assert (more.pods, more.fits) == (8, False)


# What is not known.


@pytest.mark.parametrize(
    ("free", "policy", "verdict"),
    [
        (12, "single-numa-node", "unknown"),
        (12, "none", "fits"),
        (6, "none", "refused_by_kubelet"),
        (6, "single-numa-node", "refused_by_kubelet"),
        (None, "none", "unknown"),
    ],
)
def test_without_numa_nodes_only_the_whole_nodes_cpus_can_decide(
    free: int | None, policy: Policy, verdict: str
) -> None:
    assert judged(state(None, Settings(policy), free_cpus=free), asked(8)).verdict == verdict


def test_policies_that_nothing_reports_make_the_verdict_unknown_only_where_they_matter() -> None:
    kubelet = (Settings("none"), SINGLE)
    split = machine(4, 4, used=frozenset({0, 1, 8, 9}))
    assert judged(state(split, *kubelet), asked(8)).verdict == "unknown"
    assert judged(state(split, *kubelet), asked(6)).verdict == "fits"
    assert judged(state(split, *kubelet), asked(13)).verdict == "refused_by_kubelet"
    assert judged(state(split, *kubelet, Settings(cpu_policy="none")), asked(6)).verdict == "unknown"
    assert judged(state(split, *kubelet, Settings(cpu_policy="none")), FitRequest(6000)).verdict == "fits"


def test_an_unknown_fit_does_not_count_as_fitting() -> None:
    found = answer(asked(8), [Candidate(state(None, SINGLE, free_cpus=12))], {}, MINOR)
    assert (found.pods, found.fits, found.nodes[0].verdict) == (0, False, "unknown")
    assert found.nodes[0].notes == ["12 exclusive CPUs are free, but no source reports on which NUMA nodes"]


def test_devices_whose_numa_nodes_nothing_reports_are_noted() -> None:
    found = answer(asked(1, devices={"example.com/card": 1}), [Candidate(state(machine(4), SINGLE))], {}, MINOR)
    assert found.nodes[0].notes == ["no source reports the NUMA nodes of example.com/card: they give no hint"]


# The whole answer.


def late_joiners() -> Answer:
    """Reasoned from tests/bench/late_joiners.py: 44 CPUs are free, at most 6 on a NUMA node of the younger two."""
    split = machine(8, 8, used=frozenset({0, 1}) | frozenset(range(2, 10)) | frozenset(range(16, 26)))
    young = state(split, SINGLE)._replace(requested={"cpu": 18_000})
    full = state(machine(8, 8, used=frozenset(range(26))), SINGLE)._replace(requested={"cpu": 58_000})
    nodes = [
        Candidate(full, largest_fits={"most_allocated": 8}),
        Candidate(young, largest_fits={"most_allocated": 10}),
    ]
    return answer(asked(8), nodes, {"most_allocated": 16, "least_allocated": 6}, MINOR)


def test_a_strategy_that_would_leave_room_is_named() -> None:
    found = late_joiners()
    assert [(each.strategy, each.takes) for each in found.strategies] == [
        ("least_allocated", False),
        ("most_allocated", True),
    ]
    by_verdict = {node.verdict: node.strategies for node in found.nodes}
    # What a node's own pods are placed like does not help where the scheduler finds too few CPUs at all.
    assert by_verdict == {"refused_by_kubelet": ["most_allocated"], "refused_by_scheduler": []}


def test_free_exclusive_cpus_are_summed_and_the_largest_piece_reported() -> None:
    found = late_joiners()
    assert (found.free_exclusive_cpus, found.largest_free_cpus) == (12 + 6, 6)


def test_nodes_that_take_it_come_first_then_those_that_nobody_knows() -> None:
    names: Mapping[str, NodeState] = {
        "a": state(machine(1), SINGLE),
        "b": state(None, SINGLE, free_cpus=9),
        "c": state(machine(4), SINGLE),
        "d": state(machine(4), SINGLE, unschedulable=True),
    }
    found = answer(asked(4), [Candidate(each._replace(node=name)) for name, each in names.items()], {}, MINOR)
    assert [node.node for node in found.nodes] == ["c", "b", "a", "d"]


# The question.


def test_amounts_are_quantities_of_each_container() -> None:
    of = fit_request("2", "1Gi", ["example.com/card=1", "hugepages-2Mi=4Mi"], exclusive=True, containers=3, count=2)
    pod = pod_of(of)
    assert pod.requests == {
        "cpu": 6000,
        "memory": 3 * GIB,
        "example.com/card": 3,
        "hugepages-2Mi": 12 * 1024 * 1024,
    }
    assert [each.cpus for each in pod.containers] == [2, 2, 2]
    assert pod.containers[0].memory_bytes == {"memory": GIB, "hugepages-2Mi": 4 * 1024 * 1024}
    assert pod.containers[0].devices == {"example.com/card": 1}


@pytest.mark.parametrize(
    ("cpu", "memory_", "devices", "message"),
    [
        ("500m", "0", (), "whole"),
        ("0", "0", (), "whole"),
        ("eight", "0", (), "cpu: 'eight'"),
        ("8", "16 GB", (), "memory"),
        ("-8", "0", (), "below 0"),
        ("8", "0", ("gpu",), "nvidia.com/gpu=1"),
        ("8", "0", ("cpu=1",), "nvidia.com/gpu=1"),
        ("8", "0", ("gpu=1", "gpu=2"), "once"),
        ("8", "0", ("gpu=many",), "gpu: 'many'"),
    ],
)
def test_a_pod_that_cannot_be_is_refused(cpu: str, memory_: str, devices: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadFitRequest, match=message):
        fit_request(cpu, memory_, devices, exclusive=True)


# Against brute force.


@st.composite
def crowded_machines(draw: st.DrawFn) -> tuple[Machine, bool]:
    """A machine some of whose cores, or threads, are taken."""
    threads = draw(st.sampled_from([1, 2, 4]))
    full = draw(st.booleans())
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    of = machine(*sizes, threads=threads)
    units = sorted(of.topology.cpus)
    taken = draw(st.lists(st.sampled_from(units), unique=True, max_size=len(units)))
    return of._replace(free=of.topology.cpus - frozenset(taken)), full


@settings(max_examples=EXAMPLES * 3 // 2)
@given(crowded_machines(), st.integers(1, 10))
def test_single_numa_node_admits_exactly_what_one_numa_node_has_free(of: tuple[Machine, bool], cpus: int) -> None:
    crowded, full = of
    threads = len(crowded.topology.numa_nodes[0].cores[0])

    def has_room(numa: int) -> bool:
        return len(crowded.topology.numa_nodes[numa].cpus & crowded.free) >= cpus and not (full and cpus % threads)

    able = [numa for numa in range(len(crowded.topology.numa_nodes)) if has_room(numa)]
    found = judged(state(crowded, SINGLE._replace(assignment=StaticPolicyOptions(whole_cores=full))), asked(cpus))
    assert (found.verdict == "fits") == bool(able)
    if able:
        assert set(found.numa_nodes) <= set(able)
        assert len(found.numa_nodes) == 1


@settings(max_examples=EXAMPLES * 3 // 5)
@given(crowded_machines(), st.integers(1, 6))
def test_no_more_pods_fit_one_numa_node_each_than_division_says(of: tuple[Machine, bool], cpus: int) -> None:
    crowded = of[0]
    want = sum(len(node.cpus & crowded.free) // cpus for node in crowded.topology.numa_nodes)
    assert take(state(crowded, SINGLE), pod_of(asked(cpus)), MINOR, 99)[1] == want


@settings(max_examples=EXAMPLES * 3 // 5)
@given(crowded_machines(), st.integers(1, 10))
def test_restricted_admits_exactly_the_fewest_numa_nodes_that_an_empty_machine_needs(
    of: tuple[Machine, bool], cpus: int
) -> None:
    crowded = of[0]
    nodes = crowded.topology.numa_nodes

    def sizes(free: frozenset[int]) -> list[int]:
        return [
            size
            for size in range(1, len(nodes) + 1)
            for group in combinations(nodes, size)
            if sum(len(node.cpus & free) for node in group) >= cpus
        ]

    needed, possible = sizes(crowded.topology.cpus), sizes(crowded.free)
    found = judged(state(crowded, Settings("restricted")), asked(cpus))
    assert (found.verdict == "fits") == bool(possible and min(possible) == min(needed))


def test_a_node_that_is_not_ready_is_not_offered_and_an_unknown_one_does_not_count() -> None:
    ready, refused, silent = (state(None, ready=each)._replace(node=str(each)) for each in (True, False, None))
    found = answer(
        fit_request("1", "0", [], exclusive=False), [Candidate(each) for each in (ready, refused, silent)], {}, 30
    )
    assert [(each.node, each.verdict, each.pods) for each in found.nodes] == [
        ("True", "fits", 1),
        ("None", "unknown", 0),
        ("False", "refused_by_scheduler", 0),
    ]
    assert found.nodes[1].notes == ["whether the node is Ready is unknown"]
    assert found.nodes[2].reasons == ["the node is not Ready"]


def test_the_taints_of_a_node_that_is_not_ready_are_its_reason() -> None:
    node = state(None, ready=False, taints=("node.kubernetes.io/not-ready=:NoSchedule",))
    found = judged(node, FitRequest(1000))
    assert found.reasons == ("node(s) had untolerated taint {node.kubernetes.io/not-ready: }",)


@pytest.mark.parametrize("asked", [{"containers": 0}, {"containers": 101}, {"containers": 10**9}, {"count": 0}])
def test_a_pod_of_more_containers_than_anyone_has_is_no_question(asked: dict[str, int]) -> None:
    """An assistant asked for a billion, and nobody else was answered any more."""
    with pytest.raises(BadFitRequest, match="1 to 100 containers"):
        fit_request("1", "0", (), exclusive=False, **asked)
