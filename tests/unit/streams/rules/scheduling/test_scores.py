"""Scores of the default plugins, worked out by hand from their rules (rules: scheduler-scores)."""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fakes.places import Objects, a_pod, clusters, neighbour
from ingest.model.objects.pod import Toleration
from streams.rules.scheduling.constraints import (
    Constraints,
    NeighbourTerm,
    Preferences,
    PreferredNeighbours,
    PreferredNodes,
    Spread,
)
from streams.rules.scheduling.filters import NodeState, PodRequest
from streams.rules.scheduling.neighbours import Neighbour
from streams.rules.scheduling.scores import most_compared, scored
from streams.rules.scheduling.selectors import Requirement

GIB = 1 << 30
MIB = 1 << 20
BARE = Neighbour("ns", preferences=Preferences(added={"cpu": 100, "memory": 200 * MIB}))
"""A pod of one container without requests."""
WEB = {"app": "web", "pod-template-hash": "7f9c"}
APP = [Requirement("app", "In", ["web"])]


def node(name: str, cpu: int = 0, memory: int = 0, pods: tuple[Neighbour, ...] = (), **known: Any) -> NodeState:
    """A node of 4 CPUs and 8 GiB, of which pods requested so much."""
    allocatable = {"cpu": 4000, "memory": 8 * GIB, "pods": 110}
    return NodeState(name, allocatable, {"cpu": cpu, "memory": memory}, len(pods), neighbours=pods, **known)


def of(plugin: str, pod: PodRequest, *nodes: NodeState) -> list[int | None]:
    found = scored(pod, nodes, nodes).by_node
    return [found[each.node][plugin] for each in nodes]


def test_a_fuller_node_gets_the_lower_score() -> None:
    pod = PodRequest((), {"cpu": 1000, "memory": GIB})
    # (4 - 1) of 4 CPUs and (8 - 1) of 8 GiB stay free, (75 + 87) / 2; then 1 of 4 and 4 of 8, (25 + 50) / 2.
    assert of("NodeResourcesFit", pod, node("new"), node("old", 2000, 3 * GIB)) == [81, 37]


def test_containers_without_requests_count_as_100m_and_200_mib() -> None:
    # 3800 of 4000 millicores are 95 %, 7792 of 8192 MiB 95 %.
    assert of("NodeResourcesFit", PodRequest((), {}, BARE), node("n", pods=(BARE,))) == [95]


def test_a_large_cluster_is_compared_in_part() -> None:
    """At least 100, else 50 % less 1 % for each 125 nodes, and not below 5 %."""
    assert [most_compared(nodes) for nodes in (3, 100, 250, 1000, 5000, 10_000)] == [100, 100, 120, 420, 500, 500]


def test_a_pod_that_unbalances_a_node_loses() -> None:
    pod = PodRequest((), {"cpu": 2000})
    # Shares of 0.5 and 0 deviate by 0.25: 75 instead of 100 before. Where memory is used already, 100 instead of 75.
    assert of("NodeResourcesBalancedAllocation", pod, node("n"), node("m", memory=4 * GIB)) == [62, 87]
    assert of("NodeResourcesBalancedAllocation", PodRequest((), {}), node("m", memory=4 * GIB)) == [0]


def test_prefer_no_schedule_taints_count_unless_tolerated() -> None:
    one, two = (
        node("a", taints=("k=v:PreferNoSchedule",)),
        node("b", taints=("k=v:PreferNoSchedule", "l=:PreferNoSchedule")),
    )
    assert of("TaintToleration", PodRequest((), {}), one, two, node("c")) == [150, 0, 300]
    tolerant = PodRequest((), {}, tolerations=(Toleration("l", "Exists"),))
    assert of("TaintToleration", tolerant, one, two) == [0, 0]


def test_the_weights_of_the_preferred_node_affinity_add_up() -> None:
    wants = [
        PreferredNodes(80, [Requirement("disk", "In", ["ssd"])]),
        PreferredNodes(20, [Requirement("zone", "Exists")]),
    ]
    pod = PodRequest((), {}, Neighbour("ns", preferences=Preferences(nodes=wants)))
    nodes = node("a", labels={"disk": "ssd"}), node("b", labels={"zone": "z"}), node("c")
    assert of("NodeAffinity", pod, *nodes) == [200, 50, 0]
    assert of("NodeAffinity", PodRequest((), {}), *nodes) == [0, 0, 0]


def test_preferred_affinity_and_anti_affinity_count_within_a_domain() -> None:
    web = Neighbour("ns", {"app": "web"})
    near = Preferences(neighbours=[PreferredNeighbours(10, NeighbourTerm("zone", APP, ["ns"]))])
    away = Preferences(neighbours=[PreferredNeighbours(-10, NeighbourTerm("zone", APP, ["ns"]))])
    nodes = (
        node("a", pods=(web,), labels={"zone": "x"}),
        node("b", labels={"zone": "x"}),
        node("c", labels={"zone": "y"}),
    )
    assert of("InterPodAffinity", PodRequest((), {}, Neighbour("ns", preferences=near)), *nodes) == [200, 200, 0]
    assert of("InterPodAffinity", PodRequest((), {}, Neighbour("ns", preferences=away)), *nodes) == [0, 0, 200]
    # A required affinity of a pod that is there pulls too.
    friend = Neighbour("ns", constraints=Constraints(affinity=[NeighbourTerm("zone", APP, ["ns"])]))
    there = node("a", labels={"zone": "x"}), node("c", pods=(friend,), labels={"zone": "y"})
    assert of("InterPodAffinity", PodRequest((), {}, web), *there) == [0, 200]


def test_a_pods_own_spread_favours_the_emptier_domain() -> None:
    web = Neighbour("ns", {"app": "web"})
    spread = Preferences(spread=[Spread("zone", 1, APP, 1, True, False)])
    pod = PodRequest((), {}, web._replace(preferences=spread))
    nodes = node("a", pods=(web, web), labels={"zone": "x"}), node("b", labels={"zone": "y"}), node("no-zone")
    # Two pods times ln(2 + 2) are 3 against 0; a node without the key gets nothing.
    assert of("PodTopologySpread", pod, *nodes) == [0, 200, 0]


def test_pods_of_a_deployment_are_spread_by_default() -> None:
    web = Neighbour("ns", WEB)
    nodes = [
        node(name, pods=pods, labels={"kubernetes.io/hostname": name}) for name, pods in (("a", (web,)), ("b", ()))
    ]
    # One pod times ln(2 + 2), and 3 - 1 for the skew, are 3; without the pod 2: 100 * (3 + 2 - s) / 3.
    assert of("PodTopologySpread", PodRequest((), {}, web), *nodes) == [132, 200]


def test_missing_evidence_is_named_and_gives_no_score() -> None:
    unknown = {"ImageLocality": "the images on nodes are not kept"}
    assert scored(PodRequest((), {}), [node("n")], [node("n")]).unknown == unknown
    # With labels but no ReplicaSet's hash, Services and controllers that nobody read decide.
    found = scored(PodRequest((), {}, Neighbour("ns", {"app": "web"})), [node("n")], [node("n")])
    assert found.by_node["n"]["PodTopologySpread"] is None
    assert found.unknown["PodTopologySpread"] == "no source has the Services and controllers that select it"
    # A namespace selector whose namespaces were not seen.
    term = NeighbourTerm("zone", APP, [], unknown_namespaces=True)
    wants = Preferences(neighbours=[PreferredNeighbours(10, term)])
    pod = PodRequest((), {}, Neighbour("ns", preferences=wants))
    assert of("InterPodAffinity", pod, node("n", pods=(Neighbour("ns", {"app": "web"}),))) == [None]
    assert of(
        "DynamicResources", PodRequest((), {}, Neighbour("ns", constraints=Constraints(claims=["c"]))), node("n")
    ) == [None]


def test_scores_that_an_unknown_node_would_change_are_unknown() -> None:
    clean, tainted = node("a"), node("b", taints=("k=v:PreferNoSchedule",))
    worst = node("c", taints=("k=v:PreferNoSchedule", "l=v:PreferNoSchedule"))
    pod, nodes = PodRequest((), {}), [clean, tainted, worst]
    sure = scored(pod, nodes, [clean, tainted])
    assert [sure.by_node[name]["TaintToleration"] for name in ("a", "b")] == [300, 0]
    unsure = scored(pod, nodes, [clean, tainted], [worst])
    assert unsure.by_node["a"]["TaintToleration"] is None
    assert unsure.by_node["a"]["NodeResourcesFit"] == sure.by_node["a"]["NodeResourcesFit"]
    assert scored(pod, nodes, [clean, tainted], [clean]).by_node == sure.by_node


@given(clusters(), a_pod(), st.randoms(use_true_random=False))
def test_nodes_and_pods_in_any_order_get_the_same_scores(
    cluster: tuple[Objects, Objects], asked: dict[str, Any], chance: random.Random
) -> None:
    pod = PodRequest((), {"cpu": 100}, neighbour(asked))

    def states() -> list[NodeState]:
        return [
            node(
                each["metadata"]["name"],
                pods=tuple(
                    neighbour(pod) for pod in cluster[1] if pod["spec"]["nodeName"] == each["metadata"]["name"]
                ),
                labels=each["metadata"]["labels"],
                taints=tuple(f"{taint['key']}=:{taint['effect']}" for taint in each["spec"]["taints"]),
            )
            for each in cluster[0]
        ]

    first = scored(pod, states(), states())
    for part in cluster:
        chance.shuffle(part)
    assert scored(pod, states(), states()) == first
