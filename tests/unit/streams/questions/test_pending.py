"""Kinds of pods and classes of nodes: each pod and node gets what it would get by itself, and is judged once."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.devices import DEVICES, device_clusters
from fakes.places import neighbour
from fakes.storage import RESOURCES, rows, storages
from sql.questions.fit_storage import Scheduled, with_devices, with_volumes
from streams.questions import pending
from streams.questions.fit import Candidate
from streams.questions.pending import Outcome, Waiting, judged, needs_all_pods
from streams.rules.numa.topology_manager import Request
from streams.rules.scheduling.constraints import restored, stored
from streams.rules.scheduling.device_claims import Devices, device_needs
from streams.rules.scheduling.filters import NO_ROOM_KNOWN, NodeState, PodRequest, missing_facts, scheduler_reasons
from streams.rules.scheduling.neighbours import Neighbour
from streams.rules.scheduling.storage import Claim, Volume
from streams.rules.scheduling.volume_needs import NodeVolumes, Storage, needs_of

MINOR = 36


def reported(waiting: Iterable[Waiting], nodes: Sequence[NodeState], **world: Any) -> dict[tuple[str, str], Outcome]:
    """The outcome of each pod on each node."""
    return {
        (pod.uid, nodes[place].node): outcome
        for kind in judged(waiting, nodes, MINOR, **world)
        for pod in kind.pods
        for outcome, places in kind.outcomes.items()
        for place in places
    }


def node(name: str, labels: dict[str, str] | None = None, **values: Any) -> NodeState:
    known: dict[str, Any] = {"allocatable": {"cpu": 8000, "pods": 10}, "requested": {}, "pods": 0}
    return NodeState(name, labels=labels or {}, **(known | values))


def twice(nodes: Sequence[dict[str, Any]], **values: Any) -> list[Candidate]:
    """Each node, and another one that is like it but for its name."""
    names = [(each["metadata"]["name"], each["metadata"]["labels"]) for each in nodes]
    made = [node(name, labels, **values) for name, labels in [*names, *((f"{name}-2", of) for name, of in names)]]
    return [Candidate(each) for each in made]


def by_itself(asked: dict[str, Any], states: Sequence[NodeState], storage: Storage, devices: Devices) -> None:
    """Checks the pod of a drawn cluster on each node against the rules alone."""
    itself = neighbour(asked["pod"])
    waiting = Waiting("ns", "p", "new", constraints=stored(itself.constraints), labels=itself.labels)
    pods = [(each.namespace, each.constraints) for state in states for each in state.neighbours]
    alone = PodRequest(
        (Request(0),),
        {},
        itself,
        needs=needs_of(itself.constraints, "ns", storage, pods=pods, uid="new"),
        device_needs=device_needs(itself.constraints, "ns", devices, MINOR, pod=("p", "new")),
    )
    found = reported([waiting], states, storage=storage, devices=devices)
    assert len(found) == len(states)
    for state in states:
        outcome = found["new", state.node]
        assert outcome.reasons == tuple(scheduler_reasons(state, alone, MINOR)), (state.node, asked)
        assert outcome.unknowns == tuple(missing_facts(state, alone, MINOR)), (state.node, asked)


@given(storages(), st.lists(st.sampled_from(RESOURCES), unique=True) | st.just([*RESOURCES]))
def test_nodes_that_differ_for_volumes_are_not_taken_for_each_other(
    asked: dict[str, Any], complete: list[str]
) -> None:
    objects = [(each.resource, each.namespace, each.name, each.facts) for each in rows(asked)]
    storage = Scheduled(objects, complete).storage()
    there = {each["spec"]["nodeName"]: neighbour(each) for each in asked["pods"]}
    candidates = [
        each._replace(state=each.state._replace(neighbours=(there[each.state.node],)))
        if each.state.node in there
        else each
        for each in twice(asked["nodes"])
    ]
    by_itself(asked, [each.state for each in with_volumes(candidates, storage)], storage, Devices())


@given(device_clusters(), st.lists(st.sampled_from(DEVICES), unique=True) | st.just([*DEVICES]))
def test_nodes_that_differ_for_devices_are_not_taken_for_each_other(
    asked: dict[str, Any], complete: list[str]
) -> None:
    objects = [(each.resource, each.namespace, each.name, each.facts) for each in rows(asked)]
    devices = Scheduled(objects, complete).devices()
    by_itself(asked, [each.state for each in with_devices(twice(asked["nodes"]), devices)], Storage(), devices)


CLAIMED = '{"claimed":[["data","a",false]]}'
ONE = {"d": 1}
ROOM: list[tuple[NodeVolumes, bool | None]] = [
    (NodeVolumes(ONE), True),
    (NodeVolumes(ONE, used=frozenset({("d", "another")})), False),
    (NodeVolumes(ONE, used=frozenset({("d", "h")})), True),
    (NodeVolumes(ONE, attached=frozenset({("d", "another")})), False),
    (NodeVolumes(ONE, used=frozenset({("e", "another")})), True),
    (NodeVolumes(ONE, complete=False), None),
    (NodeVolumes({}, complete=False), True),
    (NodeVolumes(None), None),
]


def test_each_node_has_the_room_for_volumes_that_it_has_by_itself() -> None:
    storage = Storage(
        claims={("ns", "a"): Claim(volume="v", bound=True)}, volumes={"v": Volume(driver="d", handle="h")}
    )
    nodes = [node(f"n{number}", volumes=volumes) for number, (volumes, _) in enumerate(ROOM)]
    found = reported([pod("p", constraints=CLAIMED)], nodes, storage=storage)
    assert [found["u-p", each.node].fits for each in nodes] == [fits for _, fits in ROOM]


def pod(name: str, **values: Any) -> Waiting:
    return Waiting("ns", name, f"u-{name}", **({"requests": {"cpu": 1000}} | values))


def test_pods_that_differ_in_names_and_in_what_was_seen_are_one_kind() -> None:
    waiting = [pod("b", labels={"app": "b"}, scheduler_reasons={"Insufficient cpu": 1}), pod("a")]
    (kind,) = judged(waiting, [node("n")], MINOR)
    assert [each.pod for each in kind.pods] == ["a", "b"]


APART = '{"anti_affinity":[["zone",[["app","In",["a"]]],["ns"]]]}'
DIFFERENT: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"requests": {"cpu": 2000}}),
    ({}, {"exclusive_cpus": 1}),
    ({}, {"tolerations": ("a=b:NoSchedule",)}),
    ({}, {"constraints": '{"gates":["g"]}'}),
    ({"requests": {"a/b": 1}}, {"requests": {"a/b": 1}, "scheduler_reasons": {"Insufficient a/b": 1}}),
    ({"constraints": APART}, {"constraints": APART, "labels": {"app": "a"}}),
    # A pod that is there keeps pods of app=a away.
    ({}, {"labels": {"app": "a"}}),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_pods_that_a_rule_distinguishes_are_of_different_kinds(one: dict[str, Any], other: dict[str, Any]) -> None:
    there = restored(APART)
    nodes = [node("n", {"zone": "z"}, neighbours=(Neighbour("ns", {}, there),))]
    assert len(list(judged([pod("a", **one), pod("b", **other)], nodes, MINOR))) == 2


def test_nodes_in_any_order_give_the_same() -> None:
    nodes = [node("a"), node("full", requested={"cpu": 8000}), node("z", unschedulable=True)]
    waiting = [pod("p"), pod("q", tolerations=("node.kubernetes.io/unschedulable:NoSchedule",))]
    assert reported(waiting, nodes) == reported(reversed(waiting), [*reversed(nodes)])
    assert {key: each.fits for key, each in reported(waiting, nodes).items()} == {
        ("u-p", "a"): True,
        ("u-p", "full"): False,
        ("u-p", "z"): False,
        ("u-q", "a"): True,
        ("u-q", "full"): False,
        ("u-q", "z"): True,
    }


def test_beyond_the_limit_nothing_is_said_of_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "MOST_PAIRS", 1)
    waiting = [pod(name, requests={"cpu": cpus}) for cpus, name in enumerate("abc", start=1)]
    found = reported(waiting, [node("n")])
    assert [(found[f"u-{name}", "n"].fits, found[f"u-{name}", "n"].unknowns) for name in "abc"] == [
        (True, ()),
        (True, ()),
        (None, (pending.TOO_MANY,)),
    ]


@pytest.mark.parametrize(
    ("constraints", "heeds"),
    [("", False), ('{"gates":["g"]}', False), (APART, True), ('{"spread":[["z",1,[],1,true,true]]}', True)],
)
def test_a_pod_with_affinity_needs_the_pods_of_all_nodes(constraints: str, heeds: bool) -> None:
    assert needs_all_pods([pod("a"), pod("b", constraints=constraints)]) == heeds


def test_what_was_seen_stays_with_its_pod() -> None:
    at = datetime(2026, 7, 1)  # noqa: DTZ001  only carried
    (kind,) = judged([pod("a", scheduler_reasons={"x": 1}, scheduler_reasons_at=at), pod("b")], [node("n")], MINOR)
    assert [(each.scheduler_reasons, each.scheduler_reasons_at) for each in kind.pods] == [({"x": 1}, at), ({}, None)]


def test_no_pod_lacks_anything_on_a_node_whose_room_was_not_seen() -> None:
    """Regression: a table of nodes has no allocatable resources, and each had too many pods and too little CPU."""
    asked = pod("a", requests={"cpu": 100})
    found = reported([asked], [node("full", pods=10), node("tabled", allocatable={}), node("free")])
    outcomes = {name: (outcome.fits, outcome.reasons, outcome.unknowns) for (_, name), outcome in found.items()}
    assert outcomes == {
        "full": (False, ("Too many pods",), ()),
        "tabled": (None, (), ("how much the node can give",)),
        "free": (True, (), ()),
    }


@pytest.mark.parametrize(
    ("allocatable", "reasons", "is_unknown"),
    [
        ({"memory": 1 << 30}, ("Insufficient memory",), True),
        ({"memory": 8 << 30}, (), True),
        ({"cpu": 1000, "memory": 8 << 30}, ("Insufficient cpu",), True),
        ({"cpu": 4000, "memory": 8 << 30}, (), True),
        ({"cpu": 4000, "memory": 8 << 30, "pods": 10}, (), False),
        ({"cpu": 1000, "memory": 1 << 30, "pods": 10}, ("Insufficient cpu", "Insufficient memory"), False),
    ],
    ids=["too little", "only memory", "too few CPUs", "not how many pods", "whole", "whole and full"],
)
def test_a_pod_is_refused_only_for_resources_whose_allocatable_was_seen(
    allocatable: dict[str, int], reasons: tuple[str, ...], is_unknown: bool
) -> None:
    """A column of amounts prints one; a kubelet always states cpu, memory and pods."""
    pod = Waiting("ns", "p", "u", requests={"cpu": 2000, "memory": 2 << 30})
    found = reported([pod], [node("n", allocatable=allocatable)])["u", "n"]
    assert (found.reasons, found.unknowns) == (reasons, (NO_ROOM_KNOWN,) * is_unknown)
    assert found.fits is (False if reasons else None if is_unknown else True)
