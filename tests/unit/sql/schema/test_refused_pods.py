"""The API shows room that a kubelet denies, or does not."""

from datetime import timedelta
from typing import Any

import pytest

from components.rows import T0, dicts, row, store
from sql.database.open import Database
from streams.fold.findings import NodeFit, PodEnd

GPU = "nvidia.com/gpu"


def refused(minutes: float = 0, **values: Any) -> PodEnd:
    known = {"cause": "admission", "reason": "UnexpectedAdmissionError", "refused_by": "device_manager"}
    what = {"resource": GPU, "requested": 1, "available": 0, "node": "n", "uid": "u", "pod": "tune", "namespace": "t"}
    return row(PodEnd, **{**known, **what, "ts": T0 + timedelta(minutes=minutes), **values})


def fit(requested: int, minutes: float = 1, resource: str = GPU, allocatable: int = 8, pods: int = 2) -> NodeFit:
    at = T0 + timedelta(minutes=minutes)
    return row(NodeFit, node="n", ts=at, resource=resource, allocatable=allocatable, requested=requested, pods=pods)


@pytest.mark.parametrize(
    ("free_by_api", "contradicted"),
    [(3, 1), (1, 1), (0, 0)],
)
def test_room_that_the_kubelet_denies_contradicts_it(database: Database, free_by_api: int, contradicted: int) -> None:
    store(database, refused(), fit(8 - free_by_api), fit(0, minutes=60))
    (found,) = dicts(database, "SELECT * FROM refused_pods")
    assert (found["api_allocatable"], found["api_free"]) == (8, free_by_api)
    assert found["is_contradicted"] == contradicted


@pytest.mark.parametrize(
    "values",
    [
        # CPUs of its own are another count than requests
        {"refused_by": "cpu_manager", "resource": "cpu", "requested": 1000, "available": 0},
        {"refused_by": "topology_manager", "resource": "", "requested": None, "available": None},
        {"requested": None, "available": None},
        {"resource": "example.com/other"},
    ],
)
def test_nothing_is_contradicted_without_a_witness(database: Database, values: dict[str, Any]) -> None:
    store(database, refused(**values), fit(0), fit(0, resource="cpu", allocatable=8000))
    (found,) = dicts(database, "SELECT * FROM refused_pods")
    assert found["is_contradicted"] == 0


def test_a_dump_without_the_living_pods_of_the_node_contradicts_nothing(database: Database) -> None:
    """The pods that the kubelet counts may be in other namespaces, which were not saved."""
    store(database, refused(), fit(0, pods=0))
    (found,) = dicts(database, "SELECT * FROM refused_pods")
    assert (found["api_free"], found["is_contradicted"]) == (8, 0)
