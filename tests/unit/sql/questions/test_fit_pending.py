"""A stored pending pod gets the answer and the scores that its manifest gets."""

from typing import Any

import pytest

from components.rows import store
from fakes.pending import node, room, seen
from sql.database.open import Database
from sql.questions.fit import ClusterFacts, read_known
from sql.questions.fit_pending import pending_pod
from sql.questions.queries import BadParameter
from streams.questions.fit import Answer, answer
from streams.questions.fit_request import FitRequest, request_of_manifest
from streams.rules.scheduling.filters import PodRequest

PREFERS = "preferredDuringSchedulingIgnoredDuringExecution"
SSD = {"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}}
NEAR = {
    "topologyKey": "disk",
    "labelSelector": {"matchLabels": {"app": "db"}},
    "namespaceSelector": {"matchLabels": {"a": "b"}},
}


def pod(name: str, on: str = "", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "uid": name, "labels": {"app": "db", "pod-template-hash": "5d"}}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c"}], "nodeName": on, **spec}, "status": {}}


def answered(known: ClusterFacts, asked: FitRequest, request: PodRequest) -> Answer:
    return answer(asked, known.candidates, {}, known.scheduler_minor, pod=request, everywhere=known.everywhere)


def test_a_pending_pod_is_scored_as_its_manifest(database: Database) -> None:
    waiting = pod("new", affinity={"nodeAffinity": {PREFERS: [SSD]}})
    store(
        database, seen(waiting), seen(pod("old", "a")), node("a", disk="ssd"), node("b", disk="hdd"), *room("a", "b")
    )
    known = read_known(database, with_pods=True)
    stored = answered(known, *pending_pod(database, known, "ns/new"))
    assert stored == answered(known, *request_of_manifest(waiting, 1))
    # Of 8 CPUs, 100m for each of two pods without requests: 97.5 %; of one 98.75 %. No node has allocatable memory.
    # The label kubernetes.io/hostname lacks: no domain has any of its pods, so that all score alike.
    scores = {each.node: each.scores for each in stored.nodes}
    assert [scores[name]["NodeResourcesFit"] for name in ("a", "b")] == [97, 98]
    assert [scores[name]["NodeAffinity"] for name in ("a", "b")] == [200, 0]
    assert [scores[name]["PodTopologySpread"] for name in ("a", "b")] == [200, 200]
    assert [(each.node, each.score) for each in stored.nodes] == [("a", 797), ("b", 598)]
    assert (scores["a"]["ImageLocality"], [*stored.unscored]) == (None, ["ImageLocality"])


def test_without_the_labels_of_namespaces_a_term_that_selects_them_has_no_score(database: Database) -> None:
    near = {"podAffinity": {PREFERS: [{"weight": 1, "podAffinityTerm": NEAR}]}}
    store(database, seen(pod("new", affinity=near)), seen(pod("old", "a")), node("a", disk="ssd"), *room("a"))
    known = read_known(database, with_pods=True)
    found = answered(known, *pending_pod(database, known, "ns/new"))
    assert [*found.unscored] == ["InterPodAffinity", "ImageLocality"]
    assert found.nodes[0].scores["InterPodAffinity"] is None


@pytest.mark.parametrize(
    ("name", "says"), [("ns/nope", "write NAMESPACE/NAME"), ("new", "no pod"), ("ns/old", "it is on node a")]
)
def test_a_pod_that_does_not_wait_is_refused_with_what_to_do(database: Database, name: str, says: str) -> None:
    store(database, seen(pod("new")), seen(pod("old", "a")), node("a"), *room("a"))
    known = read_known(database, with_pods=True)
    with pytest.raises(BadParameter, match=says):
        pending_pod(database, known, name)
