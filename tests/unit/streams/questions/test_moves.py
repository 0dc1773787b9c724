"""Restarts make room on one NUMA node by the kubelet's own admission, and no fewer do (rules: numa-moves)."""

from collections.abc import Sequence
from itertools import pairwise, permutations
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.model.machine import Cpu
from profiles import EXAMPLES
from streams.questions.drain import Cluster, DrainedPod
from streams.questions.fit_request import FitRequest, pod_of
from streams.questions.moves import Holder, Home, MovesAnswer, plan
from streams.questions.pending import Waiting
from streams.rules.numa.cpu_assignment import Assignment
from streams.rules.numa.memory_checkpoint import MemoryNode, MemoryTable
from streams.rules.numa.topology import numa_topology
from streams.rules.numa.topology_manager import Admission, Machine, Policy, Request, Settings, admit
from streams.rules.scheduling.filters import NodeState, PodRequest

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


def running(pod: Held, owner: str = "ReplicaSet") -> DrainedPod:
    cpus = len(pod.cpus)
    waiting = Waiting("shop", pod.name, pod.name, {"cpu": 1000 * cpus}, cpus, labels={"app": "web"})
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
    reserved = draw(st.integers(0, 1)) and parts.pop() if parts else frozenset[int]()
    unknown = draw(st.integers(0, 1)) and parts.pop() if parts else frozenset[int]()
    kubelet = Settings(draw(st.sampled_from(POLICIES)), assignment=Assignment(whole_cores=draw(st.booleans())))
    pods = tuple(Held(f"p{at}", each) for at, each in enumerate(parts[:4]))
    memory = draw(st.sampled_from([(), (), (9, 0), (0, 9), (9, 9)]))
    return Node(pods, kubelet, reserved or frozenset(), unknown or frozenset(), memory)


@settings(max_examples=EXAMPLES)
@given(nodes(), st.integers(1, 4), st.integers(0, 4))
def test_each_promise_is_what_the_kubelet_admits_and_no_fewer_restarts_do(
    node: Node, cpus: int, other_cpus: int
) -> None:
    """Compare with all orders of all pods."""
    memory = 5 if node.memory else 0
    found = healed(node, cpus, other_cpus, memory)
    ends = dict[Sequence[Held], list[Replayed]]()
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
