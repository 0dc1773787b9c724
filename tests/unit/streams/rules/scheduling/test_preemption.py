"""Whom preemption ends and where, worked out by hand from its rules (rules: scheduler-preemption).

A node has 4 CPUs and 3 pods. The pod that waits asks for CPUs, and its priority is 10.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from streams.rules.scheduling.budgets import Budget
from streams.rules.scheduling.constraints import ClaimedVolume, Constraints, NeighbourTerm
from streams.rules.scheduling.filters import NodeState, PodRequest
from streams.rules.scheduling.neighbours import Neighbour
from streams.rules.scheduling.preemption import BoundPod, Occupied, Preemption, preempt
from streams.rules.scheduling.selectors import Requirement
from streams.rules.scheduling.volume_needs import Need

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
OF_APP = [Requirement("app", "In", ["a"])]


def bound(name: str, cpus: float, priority: int | None = 0, minute: int | None = 0, **labels: str) -> BoundPod:
    started_at = None if minute is None else NOON + timedelta(minutes=minute)
    return BoundPod(name, Neighbour("ns", labels), priority, {"cpu": int(cpus * 1000)}, started_at)


def occupied(name: str, *pods: BoundPod, **labels: str) -> Occupied:
    used = sum(each.requests["cpu"] for each in pods)
    there = tuple(each.itself for each in pods)
    state = NodeState(name, {"cpu": 4000, "pods": 110}, {"cpu": used}, len(pods), labels=labels, neighbours=there)
    return Occupied(state, pods)


def asked(
    *nodes: Occupied,
    cpus: float = 2,
    priority: int | None = 10,
    budgets: Mapping[tuple[str, str], Budget] | None = None,
    needs: tuple[Need, ...] | None = None,
    **constraints: Any,
) -> Preemption | None:
    itself = Neighbour("ns", {"app": "a"}, Constraints(**constraints))
    pod = PodRequest((), {"cpu": int(cpus * 1000)}, itself, priority=priority, needs=needs)
    return preempt(pod, nodes, budgets or {}, 36, all_budgets=budgets is not None)


def ended(found: Preemption | None) -> dict[str, list[str]]:
    assert found is not None
    return {each.node: [victim.pod.pod for victim in each.victims] for each in found.targets}


FULL = occupied("n", bound("old", 1, minute=0), bound("young", 1, minute=9), bound("high", 2, 5))


def test_preemption_ends_the_fewest_least_important_pods() -> None:
    assert ended(asked(FULL, cpus=1)) == {"n": ["young"]}
    assert ended(asked(FULL, cpus=2)) == {"n": ["old", "young"]}
    assert ended(asked(FULL, cpus=3)) == {"n": ["high", "young"]}, "old is put back after high finds no room"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"priority": 0}, "no pod has a lower priority"),
        ({"never_preempts": True}, "preemptionPolicy is Never"),
        ({"gates": ["g"]}, "scheduling gates"),
        ({"cpus": 5}, "even without all pods of lower priority"),
        ({"nodes": [[Requirement("zone", "In", ["z"])]]}, "even without all pods of lower priority"),
    ],
)
def test_the_reason_why_preemption_would_not_help_is_reported(given: dict[str, Any], why: str) -> None:
    found = asked(FULL, **given)
    assert found is not None
    assert not found.targets
    assert not found.unknown
    assert why in found.reason


def test_nothing_is_preempted_for_a_pod_that_a_node_takes() -> None:
    assert asked(FULL, occupied("free")) is None


def test_the_node_is_the_one_whose_victims_cost_least() -> None:
    """Each node wins by one more of the things that are compared, in their order."""
    allowed = {("ns", "b"): Budget(OF_APP, allowed=0)}
    breaks = occupied("breaks", bound("a", 4, -5, app="a"))
    high = occupied("high", bound("b", 4, 9))
    several = occupied("several", bound("c", 2, 3), bound("d", 2, 1))
    early, late = occupied("early", bound("e", 4, 3, 1)), occupied("late", bound("f", 4, 3, 2))
    in_turn = [breaks, high, several, early, late]
    for count, best in enumerate(in_turn, start=1):
        assert ended(asked(*in_turn[:count], cpus=4, budgets=allowed)).keys() == {best.state.node}


def test_equal_nodes_are_all_named() -> None:
    assert list(ended(asked(occupied("m", bound("a", 4)), occupied("n", bound("b", 4)), cpus=4))) == ["m", "n"]


def test_only_pods_beyond_their_budget_are_spared_first() -> None:
    pods = [bound("first", 2, 0, 1, app="a"), bound("second", 2, 0, 2, app="a")]
    one = {("ns", "b"): Budget(OF_APP, allowed=1)}
    assert ended(asked(occupied("n", *pods), budgets=one)) == {"n": ["first"]}, "the end of second would break it"
    gone = {("ns", "b"): Budget(OF_APP, allowed=1, disrupted=["first"])}
    assert ended(asked(occupied("n", *pods), budgets=gone)) == {"n": ["second"]}
    every = {("ns", "b"): Budget([], allowed=0)}
    assert ended(asked(occupied("n", *pods), budgets=every)) == {"n": ["second"]}, "here it selects no pod"


def unknown(found: Preemption | None) -> str:
    assert found is not None
    return "; ".join(found.unknown)


def test_unknown_facts_are_reported() -> None:
    known = asked(FULL, cpus=1, budgets={})
    assert unknown(known) == ""
    assert "PodDisruptionBudgets was not read" in unknown(asked(FULL, cpus=1))
    assert "priority class" in unknown(asked(FULL, priority=None))
    assert "priorities of pods on n" in unknown(asked(occupied("n", bound("a", 4, None)), cpus=4))
    unseen = occupied("n", bound("a", 2, minute=None), bound("b", 2), bound("of-system", 0, 2_000_001_000))
    assert "equally important" in unknown(asked(unseen, budgets={}))
    both = asked(unseen, cpus=4, budgets={})
    assert (ended(both), unknown(both)) == ({"n": ["b", "a"]}, ""), "all of them go, whichever is older"
    assert "each is 0, or was not read" in unknown(asked(occupied("n", bound("a", 4)), budgets={}))
    assert "each is 0, or was not read" in unknown(asked(occupied("n", bound("a", 4)), priority=0))
    leaving = bound("a", 4)._replace(itself=Neighbour("ns", terminating=True))
    assert "already end on n" in unknown(asked(occupied("n", leaving), budgets={}))
    many = [occupied(f"n{number}", bound("a", 4)) for number in range(101)]
    assert "which of 101 nodes it tries" in unknown(asked(*many, budgets={}))


def test_anti_affinity_makes_a_neighbour_a_victim_and_affinity_gains_nothing() -> None:
    term = NeighbourTerm("host", [Requirement("app", "In", ["b"])], ["ns"])
    near = occupied("n", bound("away", 1, app="b"), bound("other", 1, minute=5), host="n")
    assert ended(asked(near, anti_affinity=[term])) == {"n": ["away"]}
    found = asked(occupied("n", bound("other", 1), host="n"), affinity=[term])
    assert found is not None
    assert "even without" in found.reason


def using(pod: BoundPod, namespace: str = "ns") -> BoundPod:
    """Let a pod use the claim that the waiting pod wants for itself."""
    constraints = Constraints(claimed=[ClaimedVolume("its", "data")])
    return pod._replace(itself=pod.itself._replace(namespace=namespace, constraints=constraints))


def asked_alone(*nodes: Occupied) -> Preemption | None:
    """Ask for one CPU and a ReadWriteOncePod claim in use; source: VolumeRestrictions of Kubernetes 1.36, whose
    RemovePod subtracts the claims of a removed pod that have the name of one.
    """
    return asked(*nodes, cpus=1, needs=(Need("v", in_use=True),), claimed=[ClaimedVolume("v", "data")])


def test_the_end_of_a_pod_frees_its_read_write_once_pod_claim() -> None:
    user, roomy = using(bound("user", 1)), bound("roomy", 1)
    found = asked_alone(occupied("n", roomy, user), occupied("elsewhere", bound("other", 4)))
    assert ended(found) == {"n": ["user"]}, "roomy is put back, and elsewhere the claim stays in use"
    assert found is not None
    assert [each for each in found.unknown if "helps" in each] == []


def test_a_claim_of_a_pod_that_stays_is_not_freed() -> None:
    found = asked_alone(occupied("n", using(bound("user", 1, priority=11)), bound("other", 1)))
    assert found is not None
    assert (found.targets, found.reason) == ((), "no node would take it, even without all pods of lower priority")


def test_a_claim_of_another_namespace_counts_by_its_name() -> None:
    namesake, user = using(bound("namesake", 1), "elsewhere"), using(bound("user", 1, priority=11))
    assert ended(asked_alone(occupied("n", namesake), occupied("m", user))) == {"n": ["namesake"]}
