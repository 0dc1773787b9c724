"""The view `scheduled_now`, and pods with claims of volumes in `pending_fit` and `leadsman fit`."""

import itertools
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from components.cases import Answers, Cases
from components.database import EmptyDatabase
from components.rows import T0, dicts, store
from fakes.pending import listed, node, room, seen
from fakes.storage import RESOURCES, rows
from sql.database.open import Database
from sql.questions.fit import read_known
from streams.fold.findings import Row
from streams.questions.fit import NodeAnswer, answer
from streams.questions.fit_request import fit_request, request_of_manifest

DATA = "where volume data can be attached"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def waiting(*volumes: dict[str, Any], **more: Any) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "ns", "uid": "new", **more}
    spec = {"containers": [{"name": "c"}], "volumes": list(volumes)}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


CLAIMED = {"name": "data", "persistentVolumeClaim": {"claimName": "a"}}


def objects(**given: list[dict[str, Any]]) -> dict[str, Any]:
    """Each with its name as its uid."""
    named: dict[str, list[dict[str, Any]]] = {resource: [] for resource in RESOURCES} | given
    for each in itertools.chain(*named.values()):
        each["metadata"].setdefault("uid", f"u-{each['metadata']['name']}")
    return named


def bound_claim(volume: str = "v0", **spec: Any) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "ns", "annotations": BOUND}
    return {"metadata": metadata, "spec": {"volumeName": volume, **spec}, "status": {"phase": "Bound"}}


def volume_in(zone: str, name: str = "v0") -> dict[str, Any]:
    expression = {"key": "zone", "operator": "In", "values": [zone]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    spec = {"nodeAffinity": affinity, "csi": {"driver": "disk.example.com", "volumeHandle": name}}
    return {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Bound"}}


CASES = Cases()


@pytest.fixture(scope="module")
def answers(empty_database: EmptyDatabase) -> Answers:
    return CASES.answers(empty_database, "SELECT * FROM pending_fit ORDER BY cluster, node")


def judged(answers: Sequence[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    return {one["node"]: (one["fits"], one["reasons"], one["unknowns"]) for one in answers}


def asking(*nodes: Row, **there: list[dict[str, Any]]) -> list[Row]:
    """A pod with a bound claim, nodes with room for more pods, and objects."""
    given = {"persistentvolumeclaims": [bound_claim()], "persistentvolumes": [volume_in("a")]} | there
    return [seen(waiting(CLAIMED)), *nodes, *room("n0", "n1"), *rows(objects(**given))]


ATTACHED = [listed("csinodes"), listed("volumeattachments")]
BOUND_CLAIM = CASES.add(*asking(node("n0", zone="a"), node("n1", zone="b")), *ATTACHED)


def test_a_bound_claim_lets_its_pod_go_where_its_volume_is(answers: Answers) -> None:
    elsewhere = "node(s) didn't match PersistentVolume's node affinity"
    assert judged(answers[BOUND_CLAIM]) == {"n0": (1, [], []), "n1": (0, [elsewhere], [])}


def without(resource: str) -> list[Row]:
    return [*asking(node("n0", zone="a"), **{resource: []}), *ATTACHED]


@pytest.mark.parametrize(
    ("unlisted", "listed", "reason"),
    [
        (CASES.add(*without(away)), CASES.add(*without(away), listed(away)), f"{kind} not found")
        for away, kind in (
            ("persistentvolumeclaims", 'persistentvolumeclaim "a"'),
            ("persistentvolumes", 'persistentvolume "v0"'),
        )
    ],
)
def test_without_the_evidence_it_is_unknown_and_with_a_complete_list_it_is_not_there(
    unlisted: str, listed: str, reason: str, answers: Answers
) -> None:
    assert judged(answers[unlisted]) == {"n0": (None, [], [DATA])}
    assert judged(answers[listed]) == {"n0": (0, [reason], [])}


NO_LIMIT = CASES.add(*asking(node("n0", zone="a")))


def test_a_limit_that_is_not_known_makes_it_unknown(answers: Answers) -> None:
    assert judged(answers[NO_LIMIT]) == {
        "n0": (None, [], ["how many volumes of disk.example.com the node has attached"])
    }


def test_what_a_complete_list_lacks_is_gone_in_its_part_alone(database: Database) -> None:
    claims = [
        {"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": {}, "status": {}} for name in "abcd"
    ]
    store(database, *rows(objects(persistentvolumeclaims=claims)))
    later = T0 + timedelta(minutes=1)
    # The second part of the list, with what is greater than b, never came.
    store(database, listed("persistentvolumeclaims", "a", ts=later, until="b"))
    now = dicts(database, "SELECT name FROM scheduled_now ORDER BY name")
    assert [each["name"] for each in now] == ["a", "c", "d"]
    store(database, listed("persistentvolumeclaims", "a", "b", "d", ts=later + timedelta(minutes=1)))
    # b was there again: a later list is right.
    now = dicts(database, "SELECT name FROM scheduled_now ORDER BY name")
    assert [each["name"] for each in now] == ["a", "b", "d"]


def test_an_object_that_came_after_a_list_is_there(database: Database) -> None:
    claims = [{"metadata": {"name": "a", "namespace": "ns"}, "spec": {}, "status": {}}]
    store(database, listed("persistentvolumeclaims"))
    store(
        database,
        *(each._replace(ts=T0 + timedelta(seconds=1)) for each in rows(objects(persistentvolumeclaims=claims))),
    )
    assert [each["name"] for each in dicts(database, "SELECT name FROM scheduled_now")] == ["a"]


MANIFEST: dict[str, Any] = {
    "metadata": {"namespace": "ns"},
    "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "c"}]}}},
}


def asked(database: Database, *volumes: dict[str, Any], **spec: Any) -> tuple[int, list[NodeAnswer]]:
    template = {"spec": {"containers": [{"name": "c"}], "volumes": list(volumes)}}
    asks, pod = request_of_manifest({**MANIFEST, "spec": {"replicas": 3, "template": template, **spec}}, None)
    known = read_known(database, with_pods=True)
    found = answer(
        asks, known.candidates, {}, known.scheduler_minor, pod=pod, everywhere=known.everywhere, storage=known.storage
    )
    return found.pods, found.nodes


def ephemeral(**spec: Any) -> dict[str, Any]:
    return {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}


def classes(**metadata: Any) -> list[dict[str, Any]]:
    topology = {"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}
    return [
        {
            "metadata": {"name": "fast", **metadata},
            "provisioner": "disk.example.com",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [topology],
        }
    ]


def test_pods_with_volumes_of_their_own_fit_up_to_the_limit_of_each_node(database: Database) -> None:
    limit = {"name": "disk.example.com", "nodeID": "n0", "allocatable": {"count": 2}}
    csi = [{"metadata": {"name": "n0"}, "spec": {"drivers": [limit]}}]
    store(
        database, node("n0", zone="a"), node("n1", zone="b"), *rows(objects(storageclasses=classes(), csinodes=csi))
    )
    store(database, *(listed(each) for each in ("volumeattachments", "csidrivers", "persistentvolumes")))
    count, nodes = asked(database, ephemeral(storageClassName="fast"))
    assert count == 2
    assert [(each.node, each.verdict, each.pods) for each in nodes] == [
        ("n0", "fits", 2),
        ("n1", "refused_by_scheduler", 0),
    ]
    assert nodes[1].reasons == ["node(s) didn't find available persistent volumes to bind"]


@pytest.mark.parametrize(
    ("annotations", "verdict"),
    [({"storageclass.kubernetes.io/is-default-class": "true"}, "fits"), ({}, "unknown")],
)
def test_a_template_without_a_class_means_the_default_one(
    annotations: dict[str, str], verdict: str, database: Database
) -> None:
    store(database, node("n0", zone="a"), *rows(objects(storageclasses=classes(annotations=annotations))))
    store(database, *(listed(each) for each in ("csinodes", "volumeattachments", "csidrivers")))
    store(database, listed("storageclasses", "u-fast"))
    assert [each.verdict for each in asked(database, ephemeral())[1]] == [verdict]


def test_no_more_than_one_pod_uses_a_claim_that_is_for_one(database: Database) -> None:
    there = objects(
        persistentvolumeclaims=[bound_claim(accessModes=["ReadWriteOncePod"])], persistentvolumes=[volume_in("a")]
    )
    store(database, node("n0", zone="a"), *rows(there), listed("csinodes"), listed("volumeattachments"))
    assert asked(database, CLAIMED)[0] == 1
    user = {**waiting(CLAIMED), "metadata": {"name": "o", "namespace": "ns", "uid": "o"}}
    user["spec"]["nodeName"] = "n0"
    store(database, seen(user))
    count, (only,) = asked(database, CLAIMED)
    assert (count, only.verdict) == (0, "refused_by_scheduler")
    assert "ReadWriteOncePod" in only.reasons[0]


def test_claims_of_a_stateful_set_are_not_known(database: Database) -> None:
    store(database, node("n0", zone="a"), *(listed(each) for each in RESOURCES))
    count, (only,) = asked(database, volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {}}])
    assert (count, only.verdict, only.notes) == (0, "unknown", [f"unknown: {DATA}"])


def test_a_pod_without_claims_asks_nothing(database: Database) -> None:
    store(database, node("n0"))
    known = read_known(database)
    found = answer(fit_request("1", "0", [], exclusive=False), known.candidates, {}, 36)
    assert found.nodes[0].verdict == "fits"
