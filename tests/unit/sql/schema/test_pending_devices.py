"""The view `pending_devices`: on rows reasoned by hand, and against the rules."""

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.rows import dicts, store
from fakes.devices import DEVICES, GPU, OF_GPU, device_clusters
from fakes.pending import judged, listed, node, seen
from fakes.places import neighbour
from fakes.storage import rows
from sql.database.open import Database
from sql.questions.fit import read_known
from streams.fold.findings import Row
from streams.questions.fit import NodeAnswer, answer
from streams.questions.manifest import asked_by
from streams.rules.scheduling.device_claims import device_needs, device_reasons

NUMBERS = itertools.count()
"""Of clusters: hypothesis gives the same example again."""
UNKNOWN = "which nodes have the devices of claim gpu"
ELSEWHERE = "resourceclaim not available on the node"
TOO_FEW = "cannot allocate all claims"


def drawn(asked: dict[str, Any], complete: list[str], minor: int) -> tuple[str, list[Row]]:
    """Of a cluster of its own."""
    cluster = f"d-{next(NUMBERS)}"
    pod = {**asked["pod"], "status": {**asked["pod"]["status"], "phase": "Pending"}}
    nodes = [node(each["metadata"]["name"], cluster, minor, **each["metadata"]["labels"]) for each in asked["nodes"]]
    lists = [listed(each, *(one["metadata"]["uid"] for one in asked[each]), cluster=cluster) for each in complete]
    return cluster, [seen(pod, cluster), *nodes, *rows(asked, cluster, DEVICES), *lists]


complete = st.just([*DEVICES]) | st.lists(st.sampled_from(DEVICES), unique=True)


@settings(max_examples=4, suppress_health_check=list(HealthCheck), deadline=None, database=None)
@given(clusters=st.lists(st.tuples(device_clusters(), complete, st.sampled_from([35, 36])), min_size=20, max_size=20))
def test_the_view_agrees_with_the_rules(
    clusters: list[tuple[dict[str, Any], list[str], int]], database: Database
) -> None:
    # That the rules are the scheduler's is tested in tests/oracle/test_devices.py.
    made = [(asked, *drawn(asked, complete, minor)) for asked, complete, minor in clusters]
    store(database, *(each for _, _, rows in made for each in rows))
    told = {
        (one["cluster"], one["node"]): one
        for one in dicts(database, "SELECT * FROM pending_devices WHERE uid = 'new'")
    }
    for asked, cluster, _ in made:
        known = read_known(database, cluster, with_pods=True)
        constraints = neighbour(asked["pod"]).constraints
        needs = device_needs(constraints, "ns", known.devices, known.scheduler_minor, pod=("p", "new"))
        for each in known.everywhere:
            reasons, unknowns = device_reasons(needs, each.node, each.labels, each.devices)
            view = told.get((cluster, each.node), {"reasons": [], "unknowns": []})
            assert sorted(view["reasons"]) == sorted(reasons), asked
            assert sorted(view["unknowns"]) == sorted(unknowns), asked


def waiting(*claims: dict[str, Any], statuses: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "namespace": "ns", "uid": "new"},
        "spec": {"containers": [{"name": "c"}], "resourceClaims": list(claims)},
        "status": {"phase": "Pending", "resourceClaimStatuses": statuses or []},
    }


NAMED = {"name": "gpu", "resourceClaimName": "a"}
FROM_TEMPLATE = {"name": "gpu", "resourceClaimTemplateName": "t"}


def claim(name: str = "a", count: int = 1, **status: Any) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}}
    metadata = {"name": name, "namespace": "ns", "uid": f"u-{name}"}
    return {"metadata": metadata, "spec": {"devices": {"requests": [request]}}, "status": status}


def allocated(device: str, on: str, name: str = "a", **more: Any) -> dict[str, Any]:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}
    result = {"request": "r", "driver": GPU, "pool": on, "device": device}
    allocation = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [term]}}
    return claim(name, allocation=allocation, **more)


def on(node: str, *devices: str, **more: Any) -> dict[str, Any]:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": GPU, "pool": pool, "nodeName": node, "devices": [{"name": each, **more} for each in devices]}
    return {"metadata": {"name": f"s-{node}", "uid": f"u-s-{node}"}, "spec": spec}


def cluster(
    database: Database, *claims: dict[str, Any], slices: list[dict[str, Any]] | None = None, expression: str = OF_GPU
) -> None:
    """Nodes n0 and n1, a class, and complete lists of everything."""
    gpu = {"metadata": {"name": "gpu", "uid": "u-gpu"}, "spec": {"selectors": [{"cel": {"expression": expression}}]}}
    there = {"resourceclaims": [*claims], "deviceclasses": [gpu], "resourceslices": slices or []}
    store(database, node("n0"), node("n1"), *rows(there, resources=DEVICES))
    store(database, *(listed(of, *(one["metadata"]["uid"] for one in there[of])) for of in DEVICES))


def test_an_allocated_claim_lets_its_pod_go_where_its_devices_are(database: Database) -> None:
    cluster(database, allocated("d0", "n0"))
    store(database, seen(waiting(NAMED)))
    assert judged(database) == {"n0": (1, [], []), "n1": (0, [ELSEWHERE], [])}


def test_a_claim_with_as_many_pods_as_it_can_have_may_take_no_more(database: Database) -> None:
    pods = [{"resource": "pods", "name": f"p{index}", "uid": str(index)} for index in range(256)]
    cluster(database, allocated("d0", "n0", reservedFor=pods))
    store(database, seen(waiting(NAMED)))
    assert judged(database) == {"n0": (None, [], [UNKNOWN]), "n1": (0, [ELSEWHERE], [])}


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        (waiting({**NAMED, "resourceClaimName": "b"}), 'could not find ResourceClaim "ns/b"'),
        (waiting(FROM_TEMPLATE), 'pod "ns/p": ResourceClaim not created yet'),
        (
            waiting(FROM_TEMPLATE, statuses=[{"name": "gpu", "resourceClaimName": "a"}]),
            "ResourceClaim ns/a was not created for Pod ns/p (Pod is not owner)",
        ),
    ],
)
def test_a_claim_that_is_not_there_for_the_pod_refuses_every_node(
    pod: dict[str, Any], reason: str, database: Database
) -> None:
    cluster(database, allocated("d0", "n0"))
    store(database, seen(pod))
    assert judged(database)["n0"] == (0, [reason], [])


def test_a_template_of_which_no_claim_is_needed_asks_nothing(database: Database) -> None:
    cluster(database)
    store(database, seen(waiting(FROM_TEMPLATE, statuses=[{"name": "gpu"}])))
    assert judged(database) == {"n0": (1, [], []), "n1": (1, [], [])}


def test_devices_that_other_claims_have_are_not_free(database: Database) -> None:
    cluster(database, claim(), allocated("d0", "n0", "b"), slices=[on("n0", "d0"), on("n1", "d0", "d1")])
    store(database, seen(waiting(NAMED)))
    assert judged(database) == {"n0": (0, [TOO_FEW], []), "n1": (1, [], [])}


def test_of_a_class_that_asks_for_more_than_a_driver_only_nodes_without_its_devices_are_known(
    database: Database,
) -> None:
    more = f'{OF_GPU} && device.attributes["{GPU}"].model == "a"'
    cluster(database, claim(), slices=[on("n1", "d0")], expression=more)
    store(database, seen(waiting(NAMED)))
    assert judged(database) == {"n0": (0, [TOO_FEW], []), "n1": (None, [], [UNKNOWN])}


def test_a_tainted_device_may_be_of_no_use(database: Database) -> None:
    cluster(database, claim(), slices=[on("n0", "d0", taints=[{"key": "t", "effect": "NoSchedule"}])])
    store(database, seen(waiting(NAMED)))
    assert judged(database) == {"n0": (None, [], [UNKNOWN]), "n1": (0, [TOO_FEW], [])}


def asked(database: Database, *claims: dict[str, Any]) -> tuple[int, list[NodeAnswer]]:
    template = {"spec": {"containers": [{"name": "c"}], "resourceClaims": list(claims)}}
    asks, pod = asked_by({"metadata": {"namespace": "ns"}, "spec": {"replicas": 3, "template": template}}, None)
    known = read_known(database, with_pods=True)
    found = answer(
        asks, known.candidates, {}, known.scheduler_minor, pod=pod, everywhere=known.everywhere, devices=known.devices
    )
    return found.pods, found.nodes


def test_pods_share_an_allocated_claim_and_one_alone_fits_for_sure_before(database: Database) -> None:
    cluster(database, allocated("d0", "n0"), claim("b"), slices=[on("n0", "d0", "d1"), on("n1", "d0")])
    assert asked(database, NAMED)[0] == 3
    assert asked(database, {**NAMED, "resourceClaimName": "b"})[0] == 1


def test_what_a_claim_of_a_template_gets_is_not_known(database: Database) -> None:
    cluster(database)
    count, nodes = asked(database, FROM_TEMPLATE)
    assert (count, [each.verdict for each in nodes], nodes[0].notes) == (
        0,
        ["unknown", "unknown"],
        [f"unknown: {UNKNOWN}"],
    )
