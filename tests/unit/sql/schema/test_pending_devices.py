"""The view `pending_devices` against the rules, and `leadsman fit` with claims of devices (rules: scheduler-devices).

Rows that were reasoned by hand are in tests/scenarios/pending_devices.
"""

import itertools
from typing import Any

from hypothesis import strategies as st

from components.rows import dicts, store
from fakes.devices import DEVICES, GPU, OF_GPU, device_clusters
from fakes.pending import listed, node, seen
from fakes.places import neighbour
from fakes.storage import rows
from profiles import drawn
from sql.database.open import Database
from sql.questions.fit import read_known
from streams.fold.findings import Row
from streams.questions.fit import NodeAnswer, answer
from streams.questions.manifest import asked_by
from streams.rules.scheduling.device_claims import device_needs, device_reasons

NUMBERS = itertools.count()
"""Of clusters."""
UNKNOWN = "which nodes have the devices of claim gpu"


def made_of(asked: dict[str, Any], complete: list[str], minor: int) -> tuple[str, list[Row]]:
    """Of a cluster of its own."""
    cluster = f"d-{next(NUMBERS)}"
    pod = {**asked["pod"], "status": {**asked["pod"]["status"], "phase": "Pending"}}
    nodes = [node(each["metadata"]["name"], cluster, minor, **each["metadata"]["labels"]) for each in asked["nodes"]]
    lists = [listed(each, *(one["metadata"]["uid"] for one in asked[each]), cluster=cluster) for each in complete]
    return cluster, [seen(pod, cluster), *nodes, *rows(asked, cluster), *lists]


complete = st.just([*DEVICES]) | st.lists(st.sampled_from(DEVICES), unique=True)


def test_the_view_agrees_with_the_rules(database: Database) -> None:
    clusters = drawn(st.tuples(device_clusters(), complete, st.sampled_from([35, 36])), 30, night=500)
    # That the rules are the scheduler's is tested in tests/oracle/test_devices.py.
    made = [(asked, *made_of(asked, complete, minor)) for asked, complete, minor in clusters]
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


NAMED = {"name": "gpu", "resourceClaimName": "a"}
FROM_TEMPLATE = {"name": "gpu", "resourceClaimTemplateName": "t"}


def claim(name: str, **status: Any) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}
    metadata = {"name": name, "namespace": "ns", "uid": f"u-{name}"}
    return {"metadata": metadata, "spec": {"devices": {"requests": [request]}}, "status": status}


def cluster(database: Database, *claims: dict[str, Any]) -> None:
    """Two nodes, of which n0 has two devices, a class, and complete lists of everything."""
    gpu = {"metadata": {"name": "gpu", "uid": "u-gpu"}, "spec": {"selectors": [{"cel": {"expression": OF_GPU}}]}}
    pool = {"name": "n0", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": GPU, "pool": pool, "nodeName": "n0", "devices": [{"name": "d0"}, {"name": "d1"}]}
    there = {
        "resourceclaims": [*claims],
        "deviceclasses": [gpu],
        "resourceslices": [{"metadata": {"name": "s", "uid": "u-s"}, "spec": spec}],
    }
    store(database, node("n0"), node("n1"), *rows(there))
    store(database, *(listed(of, *(one["metadata"]["uid"] for one in there[of])) for of in DEVICES))


def asked(database: Database, *claims: dict[str, Any]) -> tuple[int, list[NodeAnswer]]:
    template = {"spec": {"containers": [{"name": "c"}], "resourceClaims": list(claims)}}
    asks, pod = asked_by({"metadata": {"namespace": "ns"}, "spec": {"replicas": 3, "template": template}}, None)
    known = read_known(database, with_pods=True)
    found = answer(
        asks, known.candidates, {}, known.scheduler_minor, pod=pod, everywhere=known.everywhere, devices=known.devices
    )
    return found.pods, found.nodes


def test_pods_share_an_allocated_claim_and_one_alone_fits_for_sure_before(database: Database) -> None:
    result = {"request": "r", "driver": GPU, "pool": "n0", "device": "d0"}
    cluster(database, claim("a", allocation={"devices": {"results": [result]}}), claim("b"))
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
