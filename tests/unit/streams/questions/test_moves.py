"""Restarts make room on one NUMA node by the kubelet's own admission, and no fewer do (rules: exclusive-cpus)."""

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.model.machine import Cpu
from profiles import EXAMPLES
from streams.questions import moves
from streams.questions.drain import Cluster, DrainedPod
from streams.questions.fit_request import FitRequest, pod_of
from streams.questions.moves import Home, MovesAnswer, plan
from streams.questions.pending import Waiting
from streams.rules.numa.memory_checkpoint import MemoryNode, MemoryTable
from streams.rules.numa.topology import numa_topology
from streams.rules.numa.topology_manager import Machine, Policy, Request, Settings, admit
from streams.rules.scheduling.budgets import Budget
from streams.rules.scheduling.filters import NodeState
from streams.rules.scheduling.selectors import Requirement

TOPOLOGY = numa_topology([Cpu(cpu=cpu, core=cpu, socket=cpu // 4, numa=cpu // 4) for cpu in range(8)])
"""Two NUMA nodes of 4 CPUs."""
SINGLE: Policy = "single-numa-node"


class Held(NamedTuple):
    name: str
    cpus: frozenset[int]


def healed(
    wanted: int, pods: Sequence[Held], other_cpus: int = 0, policy: Policy = SINGLE, **more: object
) -> MovesAnswer:
    """The plan for node `home` with these pods, beside node `other` with so many CPUs."""
    free = TOPOLOGY.cpus.difference(*(each.cpus for each in pods))
    kubelet = (Settings(policy),)
    used = {"cpu": 1000 * (8 - len(free))}
    home = NodeState("home", {"cpu": 8000, "pods": 99}, used, len(pods), settings=kubelet)
    home = home._replace(machine=Machine(TOPOLOGY, free))._replace(**more)  # type: ignore[arg-type]
    room = {"cpu": 1000 * other_cpus, "pods": 99}
    other = NodeState("other", room, {}, 0, machine=Machine(TOPOLOGY, TOPOLOGY.cpus), settings=(Settings(),))
    held = {each.name: [each.cpus] for each in pods}
    there = [running(each) for each in pods]
    return plan(
        pod_of(FitRequest(wanted * 1000, exclusive=True)), [Home("home", there, held)], Cluster([home, other], (), 36)
    )


def running(pod: Held, owner: str = "ReplicaSet") -> DrainedPod:
    cpus = len(pod.cpus)
    waiting = Waiting("shop", pod.name, pod.name, {"cpu": 1000 * cpus}, cpus, labels={"app": "web"})
    return DrainedPod("home", waiting, owner_kind=owner, owner="web" if owner else "")


class Replayed(NamedTuple):
    to: str
    free: frozenset[int]


def replayed(order: Sequence[Held], pods: Sequence[Held], other_cpus: int, policy: Policy) -> list[Replayed] | None:
    """Restart by the kubelet's admission: a pod goes to `other` while that has CPUs, or comes back."""
    free, found = TOPOLOGY.cpus.difference(*(each.cpus for each in pods)), list[Replayed]()
    for each in order:
        free |= each.cpus
        if goes := len(each.cpus) <= other_cpus:
            other_cpus -= len(each.cpus)
        else:
            admission = admit(Machine(TOPOLOGY, free), Settings(policy), [Request(len(each.cpus))])
            if not admission.admitted:
                return None
            free = admission.machine.free
        found.append(Replayed("other" if goes else "home", free))
    return found


def is_on_one(free: frozenset[int], cpus: int, policy: Policy) -> bool:
    admission = admit(Machine(TOPOLOGY, free), Settings(policy), [Request(cpus)])
    return admission.admitted and len(TOPOLOGY.numa_nodes_of(admission.cpus[0])) == 1


@st.composite
def scattered(draw: st.DrawFn) -> list[Held]:
    cpus = draw(st.permutations(range(8)))
    sizes = draw(st.lists(st.integers(1, 3), max_size=4))
    starts = [sum(sizes[:at]) for at in range(len(sizes))]
    return [
        Held(f"p{at}", frozenset(cpus[start : start + size]))
        for at, (start, size) in enumerate(zip(starts, sizes, strict=True))
        if start + size <= len(cpus)
    ]


@settings(max_examples=EXAMPLES * 3 // 5)
@given(
    scattered(), st.integers(1, 4), st.integers(0, 4), st.sampled_from(["none", "best-effort", "restricted", SINGLE])
)
def test_each_promise_is_what_the_kubelet_admits_and_no_fewer_restarts_do(
    pods: list[Held], wanted: int, other_cpus: int, policy: Policy
) -> None:
    """Compare with all orders of all pods."""
    found = healed(wanted, pods, other_cpus, policy)
    orders = [each for size in range(len(pods) + 1) for each in permutations(pods, size)]
    start = Replayed("", TOPOLOGY.cpus.difference(*(each.cpus for each in pods)))
    ends = {
        each: [start, *steps] for each in orders if (steps := replayed(each, pods, other_cpus, policy)) is not None
    }
    least = min((len(each) for each in ends if is_on_one(ends[each][-1].free, wanted, policy)), default=None)
    assert (bool(found.node), found.unknown) == (least is not None, [])
    if least is None:
        return
    by_name = {each.name: each for each in pods}
    steps = ends[tuple(by_name[each.pod] for each in found.restarts)]
    assert len(found.restarts) == least
    assert is_on_one(steps[-1].free, wanted, policy)
    assert [each.to for each in found.restarts] == [each.to for each in steps[1:]]
    for each, after in zip(found.restarts, steps[1:], strict=True):
        fit = [cpus for cpus in range(1, 9) if is_on_one(after.free, cpus, policy)]
        assert each.largest_fit_cpus == max(fit, default=0)


PIECES = (Held("low", frozenset({0, 1})), Held("high", frozenset({4, 5})))
"""Two CPUs are free on each NUMA node."""


def test_a_pod_that_comes_back_frees_a_numa_node_only_from_the_higher_one() -> None:
    """Under single-numa-node the lower of two equal hints wins: `low` would get CPUs of NUMA node 0 again."""
    (restart,) = healed(4, PIECES).restarts
    assert (restart.pod, restart.to, restart.largest_fit_cpus) == ("high", "home", 4)


def test_a_pod_comes_back_only_if_its_cpus_decide_alone() -> None:
    """No row has the NUMA node of its memory, so it can only leave."""
    memory = {numa: MemoryNode(0, {"memory": MemoryTable(9, 0, 9, 0, 9)}, (numa,)) for numa in (0, 1)}
    known = Machine(TOPOLOGY, frozenset({2, 3, 6, 7}), memory=memory)
    assert healed(4, PIECES, machine=known) == MovesAnswer(kept={"no_room": 2})
    assert [each.to for each in healed(4, PIECES, 2, machine=known).restarts] == ["other"]


@pytest.mark.parametrize(
    ("owner", "allowed", "kept"),
    [("ReplicaSet", 1, {}), ("ReplicaSet", 0, {"refused": 2}), ("DaemonSet", 1, {"stays": 2}), ("", 1, {"ends": 2})],
)
def test_pods_that_no_controller_makes_again_and_those_of_a_budget_stay(
    owner: str, allowed: int, kept: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = NodeState("home", {"cpu": 8000, "pods": 99}, {"cpu": 4000}, 2, settings=(Settings(SINGLE),))
    node = node._replace(machine=Machine(TOPOLOGY, frozenset({2, 3, 6, 7})))
    budget = Budget([Requirement("app", "In", ["web"])], allowed=allowed, healthy=2, desired=2 - allowed)
    cluster = Cluster([node], (), 36, budgets={("shop", "web"): budget})
    home = Home("home", [running(each, owner) for each in PIECES], {each.name: [each.cpus] for each in PIECES})
    wanted = pod_of(FitRequest(4000, exclusive=True))
    found = plan(wanted, [home], cluster)
    assert (bool(found.restarts), found.kept) == (not kept, kept)
    unnamed = plan(wanted, [home._replace(held={})], cluster)
    assert unnamed == MovesAnswer()
    monkeypatch.setattr(moves, "MOST_TRIED", -1)
    assert plan(wanted, [home], cluster).unknown[0].startswith("whether further restarts help")
