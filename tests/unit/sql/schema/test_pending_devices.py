"""`leadsman fit` with claims of devices (rules: scheduler-devices).

Rows of `pending_fit` that were reasoned by hand are in tests/scenarios/pending_devices.
"""

from typing import Any

from components.rows import store
from fakes.devices import DEVICES, GPU, OF_GPU
from fakes.pending import listed, node
from fakes.storage import rows
from sql.database.open import Database
from sql.questions.fit import read_known
from streams.questions.fit import NodeAnswer, answer
from streams.questions.fit_request import request_of_manifest

UNKNOWN = "which nodes have the devices of claim gpu"


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
    asks, pod = request_of_manifest(
        {"metadata": {"namespace": "ns"}, "spec": {"replicas": 3, "template": template}}, None
    )
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
