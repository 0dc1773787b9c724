"""Restarts make room on one NUMA node by the kubelet's own admission, and no fewer do (rules: drain)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise, permutations
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.model.machine import Cpu
from profiles import EXAMPLES
from streams.questions import moves
from streams.questions.drain import Cluster, DrainedPod
from streams.questions.fit_request import FitRequest, pod_of
from streams.questions.moves import Holder, Home, MovesAnswer, plan
from streams.questions.pending import Waiting
from streams.rules.numa.cpu_assignment import Assignment
from streams.rules.numa.memory_checkpoint import MemoryNode, MemoryTable
from streams.rules.numa.topology import numa_topology
from streams.rules.numa.topology_manager import Admission, Machine, Policy, Request, Settings, admit
from streams.rules.scheduling.budgets import Budget
from streams.rules.scheduling.constraints import Constraints, NeighbourTerm
from streams.rules.scheduling.filters import NodeState, PodRequest
from streams.rules.scheduling.neighbours import Neighbour
from streams.rules.scheduling.selectors import Requirement

TOPOLOGY = numa_topology([Cpu(cpu=cpu, core=cpu // 2, socket=cpu // 4, numa=cpu // 4) for cpu in range(8)])
"""Two NUMA nodes of 4 CPUs, on 2 cores each."""
SINGLE = Settings("single-numa-node")
POLICIES: tuple[Policy, ...] = ("none", "best-effort", "restricted", "single-numa-node")


class Held(NamedTuple):
    name: str
    cpus: frozenset[int]


class Node(NamedTuple):
    """The node to heal, with what restarts do not change."""

    pods: tuple[Held, ...]
    kubelet: Settings = SINGLE
    reserved: frozenset[int] = frozenset()
    unknown: frozenset[int] = frozenset()
    """CPUs of a pod that no source names."""
    memory: tuple[int, ...] = ()
    """Free memory of each NUMA node, if the kubelet assigns it."""

    @property
    def machine(self) -> Machine:
        held = frozenset().union(*(each.cpus for each in self.pods))
        tables = {numa: {"memory": MemoryTable(9, 0, 9, 9 - free, free)} for numa, free in enumerate(self.memory)}
        memory = {numa: MemoryNode(0, table, (numa,)) for numa, table in tables.items()}
        free = TOPOLOGY.cpus - held - self.reserved - self.unknown
        return Machine(TOPOLOGY, free, self.reserved, memory)

    @property
    def state(self) -> NodeState:
        room, used = 8 - len(self.reserved), sum(len(each.cpus) for each in self.pods) + len(self.unknown)
        given = {"cpu": 1000 * room, "memory": 99, "pods": 99}
        state = NodeState("home", given, {"cpu": 1000 * used}, len(self.pods), settings=(self.kubelet,))
        return state._replace(machine=self.machine)


def running(pod: Held, owner: str = "ReplicaSet", labels: Mapping[str, str] = {"app": "web"}) -> DrainedPod:
    cpus = len(pod.cpus)
    waiting = Waiting("shop", pod.name, pod.name, {"cpu": 1000 * cpus}, cpus, labels=labels)
    return DrainedPod("home", waiting, owner_kind=owner, owner="web" if owner else "")


def wanted(cpus: int, memory: int = 0) -> PodRequest:
    return pod_of(FitRequest(cpus * 1000, memory, exclusive=True))


def healed(node: Node, cpus: int, other_cpus: int = 0, memory: int = 0) -> MovesAnswer:
    """The plan for node `home`, beside node `other` with so many CPUs."""
    room = {"cpu": 1000 * other_cpus, "pods": 99}
    other = NodeState("other", room, {}, 0, machine=Machine(TOPOLOGY, TOPOLOGY.cpus), settings=(Settings(),))
    holders = [Holder(running(each), each.cpus) for each in node.pods]
    return plan(wanted(cpus, memory), [Home("home", holders)], Cluster([node.state, other], (), 36))


class Replayed(NamedTuple):
    to: str
    free: frozenset[int]


def replayed(order: Sequence[Held], node: Node, other_cpus: int) -> list[Replayed] | None:
    """Restart by the kubelet's admission: a pod goes to `other` while that has CPUs, or comes back."""
    machine, found = node.machine, list[Replayed]()
    for each in order:
        machine = machine._replace(free=machine.free | each.cpus)
        goes = len(each.cpus) <= other_cpus
        if goes:
            other_cpus -= len(each.cpus)
        elif node.memory:
            return None
        else:
            admission = admit(machine, node.kubelet, [Request(len(each.cpus))])
            if not admission.admitted:
                return None
            machine = admission.machine
        found.append(Replayed("other" if goes else "home", machine.free))
    return found


def is_on_one(free: frozenset[int], node: Node, cpus: int, memory: int = 0) -> bool:
    request = Request(cpus, {"memory": memory} if memory else {})
    admission: Admission = admit(node.machine._replace(free=free), node.kubelet, [request])
    return admission.admitted and len(TOPOLOGY.numa_nodes_of(admission.cpus[0])) == 1


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    """A node with pods on any of its CPUs, some of which are reserved, or held by a pod that no source names."""
    cpus = draw(st.permutations(range(8)))
    sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=6))
    cuts = [sum(sizes[:at]) for at in range(len(sizes) + 1)]
    parts = [frozenset(cpus[start:end]) for start, end in pairwise(cuts) if end <= len(cpus)]
    takes = draw(st.tuples(st.booleans(), st.booleans()))
    reserved, unknown = (parts.pop() if each and parts else frozenset[int]() for each in takes)
    kubelet = Settings(draw(st.sampled_from(POLICIES)), assignment=Assignment(whole_cores=draw(st.booleans())))
    pods = tuple(Held(f"p{at}", each) for at, each in enumerate(parts[:4]))
    memory = draw(st.sampled_from([(), (), (9, 0), (0, 9), (9, 9)]))
    return Node(pods, kubelet, reserved, unknown, memory)


@settings(max_examples=EXAMPLES)
@given(nodes(), st.integers(1, 4), st.integers(0, 4))
def test_each_promise_is_what_the_kubelet_admits_and_no_fewer_restarts_do(
    node: Node, cpus: int, other_cpus: int
) -> None:
    """Compare with all orders of all pods."""
    memory = 5 if node.memory else 0
    found = healed(node, cpus, other_cpus, memory)
    ends = dict[Sequence[str], list[Replayed]]()
    for order in (each for size in range(len(node.pods) + 1) for each in permutations(node.pods, size)):
        steps = replayed(order, node, other_cpus)
        room = 8 - len(node.reserved | node.unknown) - sum(len(each.cpus) for each in node.pods)
        if steps is not None:
            room += sum(len(pod.cpus) for pod, step in zip(order, steps, strict=True) if step.to == "other")
            free = steps[-1].free if steps else node.machine.free
            if cpus <= room and is_on_one(free, node, cpus, memory):
                ends[tuple(each.name for each in order)] = steps
    least = min(map(len, ends), default=None)
    assert (bool(found.node), found.unknown) == (least is not None, [])
    if least is None:
        return
    steps = ends[tuple(each.pod for each in found.restarts)]
    assert len(found.restarts) == least
    assert [each.to for each in found.restarts] == [each.to for each in steps]
    for each, after in zip(found.restarts, steps, strict=True):
        fit = [many for many in range(1, 9) if is_on_one(after.free, node, many)]
        assert each.largest_fit_cpus == max(fit, default=0)


PIECES = (Held("low", frozenset({0, 1})), Held("high", frozenset({4, 5})))
"""Two CPUs are free on each NUMA node."""


def test_a_pod_that_returns_frees_a_numa_node_only_from_the_higher_one() -> None:
    """Under single-numa-node the lower of two equal hints wins: `low` would get CPUs of NUMA node 0 again."""
    (restart,) = healed(Node(PIECES), 4).restarts
    assert (restart.pod, restart.to, restart.largest_fit_cpus) == ("high", "home", 4)


def test_a_pod_returns_only_if_the_scheduler_refuses_it_elsewhere() -> None:
    """It can be bound to `other`, whose kubelet has 2 CPUs free, on two NUMA nodes."""
    split = Machine(TOPOLOGY, frozenset({0, 4}))
    other = NodeState("other", {"cpu": 8000, "pods": 99}, {"cpu": 4000}, 2, settings=(SINGLE,), machine=split)
    home = Home("home", [Holder(running(each), each.cpus) for each in PIECES])
    assert plan(wanted(4), [home], Cluster([Node(PIECES).state, other], (), 36)) == MovesAnswer()
    full = other._replace(allocatable={"cpu": 5000, "pods": 99})
    assert plan(wanted(4), [home], Cluster([Node(PIECES).state, full], (), 36)).restarts


def test_the_largest_fit_is_no_more_than_the_scheduler_has_room_for() -> None:
    """One CPU is requested by pods without exclusive ones: 3 of 4 are left on the NUMA node that `high` left."""
    node = Node(PIECES).state._replace(requested={"cpu": 5000})
    home = Home("home", [Holder(running(each), each.cpus) for each in PIECES])
    (restart,) = plan(wanted(3), [home], Cluster([node], (), 36)).restarts
    assert (restart.pod, restart.largest_fit_cpus) == ("high", 3)


@pytest.mark.parametrize(
    ("owner", "allowed", "kept"),
    [("ReplicaSet", 1, {}), ("ReplicaSet", 0, {"refused": 2}), ("DaemonSet", 1, {"stays": 2}), ("", 1, {"ends": 2})],
)
def test_pods_that_no_controller_makes_again_and_those_of_a_budget_stay(
    owner: str, allowed: int, kept: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = Budget([Requirement("app", "In", ["web"])], allowed=allowed, healthy=2, desired=2 - allowed)
    cluster = Cluster([Node(PIECES).state], (), 36, budgets={("shop", "web"): budget})
    home = Home("home", [Holder(running(each, owner), each.cpus) for each in PIECES])
    found = plan(wanted(4), [home], cluster)
    assert (bool(found.restarts), found.kept) == (not kept, kept)
    assert plan(wanted(4), [Home("home", [])], cluster) == MovesAnswer()
    monkeypatch.setattr(moves, "MOST_STEPS", -1)
    assert plan(wanted(4), [home], cluster).unknown[0].startswith("whether other restarts help: the search was cut")


def test_pods_that_moved_before_count_for_anti_affinity() -> None:
    """Twins keep apart: the second cannot follow the first to `other`, and the scheduler may bind it to no node."""
    apart = Constraints(anti_affinity=[NeighbourTerm("zone", [Requirement("app", "In", ["web"])], ["shop"])])
    text = msgspec.json.encode(apart).decode()
    pods = (Held("a", frozenset({0})), Held("b", frozenset({1})), Held("c", frozenset({4, 5})))
    twins = [running(each) for each in pods[:2]]
    twins = [each._replace(pod=each.pod._replace(constraints=text)) for each in twins]
    itself = Neighbour("shop", {"app": "web"}, apart)
    node = Node(pods, reserved=frozenset({6, 7})).state._replace(labels={"zone": "h"}, neighbours=(itself,))
    others = [
        NodeState(
            name, {"cpu": 9000, "pods": 9}, {}, 0, machine=Machine(TOPOLOGY, TOPOLOGY.cpus), labels={"zone": zone}
        )
        for name, zone in (("one", "z1"), ("two", "z1"), ("three", "z2"))
    ]
    home = Home("home", [Holder(there, each.cpus) for there, each in zip(twins, pods, strict=False)])
    assert plan(wanted(4), [home], Cluster([node, *others[:2]], (), 36)) == MovesAnswer()
    found = plan(wanted(4), [home], Cluster([node, *others], (), 36))
    one, another = (each.to for each in found.restarts)
    assert (one == "three") != (another == "three")


def test_a_fleet_is_searched_in_a_bounded_number_of_steps() -> None:
    """No other of 700 nodes takes any of the pods, of which each is of its own kind."""
    held = tuple(Held(f"p{at}", frozenset({at, at + 4})) for at in range(4))
    state = Node(held, Settings("none")).state
    names = [f"node-{number}" for number in range(700)]
    unlike = [each._replace(name=f"{name}-{each.name}") for name in names for each in held]
    holders = [Holder(running(each, labels={"app": each.name}), each.cpus) for each in unlike]
    homes = [Home(name, holders[at * 4 : at * 4 + 4]) for at, name in enumerate(names)]
    found = plan(wanted(4), homes, Cluster([state._replace(node=name) for name in names], (), 36))
    assert (found.restarts, found.unknown[0].partition(":")[2]) == ([], " the search was cut after 23,000 steps")
