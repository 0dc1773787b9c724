"""A real API server refuses the evictions that `leadsman simulate-drain` says it will (rules: drain)."""

import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from components.cluster.kubernetes import ApiError, Cluster
from components.command import leadsman, succeeds
from waiting import eventually

pytestmark = pytest.mark.components("cluster")

BUDGETS: Final[Mapping[str, Mapping[str, object]]] = {
    "single": {"minAvailable": 1},
    "pair": {"minAvailable": 1},
    "unready": {"minAvailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"},
    "waiting": {"minAvailable": 1},
    "twice": {"minAvailable": 0},
    "second": {"minAvailable": 0},
}
PODS: Final = {
    "single-0": ("Running", True),
    "pair-0": ("Running", True),
    "pair-1": ("Running", True),
    "unready-0": ("Running", False),
    "waiting-0": ("Pending", False),
    "twice-0": ("Running", True),
    "free-0": ("Running", True),
}
"""Phase and readiness of each pod; the name before the dash is its label."""


class _Place:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.id = cluster, f"drain-{uuid.uuid4().hex[:8]}"
        self.pods = f"/api/v1/namespaces/{self.id}/pods"
        self.budgets = f"/apis/policy/v1/namespaces/{self.id}/poddisruptionbudgets"

    def set_up(self) -> None:
        self.cluster.make_namespace(self.id)
        for name in (self.id, f"{self.id}-other"):
            self.cluster.request("POST", "/api/v1/nodes", {"metadata": {"name": name}})
            amounts = {"cpu": "8", "memory": "8Gi", "pods": "20"}
            ready = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
            status = {"status": {"capacity": amounts, "allocatable": amounts, "conditions": ready}}
            self.cluster.request("PATCH", f"/api/v1/nodes/{name}/status", status)
        made = self.cluster.request(
            "POST", f"/api/v1/namespaces/{self.id}/configmaps", {"metadata": {"name": "owner"}}
        )
        for name, spec in BUDGETS.items():
            labels = {"app": "twice" if name == "second" else name}
            body = {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, **spec}}
            self.cluster.request("POST", self.budgets, body)
        for name, (phase, is_ready) in PODS.items():
            self._make_pod(name, phase, made["metadata"]["uid"], is_ready=is_ready)

    def _make_pod(self, name: str, phase: str, uid: str, *, is_ready: bool) -> None:
        """The garbage collector deletes a pod whose owner is not there."""
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "controller": True}
        metadata = {"name": name, "labels": {"app": name.partition("-")[0]}, "ownerReferences": [owner]}
        container = {"name": "c", "image": "i"}
        spec = {"nodeName": self.id, "containers": [container], "terminationGracePeriodSeconds": 0}
        self.cluster.request("POST", self.pods, {"metadata": metadata, "spec": spec})
        condition = {"type": "Ready", "status": "True" if is_ready else "False"}
        status = {"status": {"phase": phase, "conditions": [condition]}}
        self.cluster.request("PATCH", f"{self.pods}/{name}/status", status)

    def evaluated(self) -> bool:
        """The controller has counted the pods of each budget."""
        found = {each["metadata"]["name"]: each["status"] for each in self.listed()}
        return found["pair"].get("disruptionsAllowed") == 1 and all(
            each.get("observedGeneration") for each in found.values()
        )

    def listed(self) -> list[Any]:
        items: list[Any] = self.cluster.request("GET", self.budgets)["items"]
        return items

    def is_evicted(self, pod: str) -> bool:
        """Ask the API server, which changes nothing for it."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": self.id},
            "deleteOptions": {"dryRun": ["All"]},
        }
        try:
            self.cluster.request("POST", f"{self.pods}/{pod}/eviction?dryRun=All", body)
        except ApiError as refused:
            assert refused.status in {429, 500}, refused  # noqa: PT017  the refusals themselves are expected
            return False
        return True

    def tear_down(self) -> None:
        for pod in PODS:
            self.cluster.request("DELETE", f"{self.pods}/{pod}?gracePeriodSeconds=0")
        self.cluster.request("DELETE", f"/api/v1/namespaces/{self.id}")
        for name in (self.id, f"{self.id}-other"):
            self.cluster.request("DELETE", f"/api/v1/nodes/{name}")


@pytest.fixture
def place(cluster: Cluster) -> Iterator[_Place]:
    made = _Place(cluster)
    made.set_up()
    yield made
    made.tear_down()


def test_it_refuses_the_evictions_that_the_api_server_refuses(place: _Place, tmp_path: Path) -> None:
    eventually("the budgets are evaluated", place.evaluated)
    granted = {pod for pod in PODS if place.is_evicted(pod)}
    assert granted == {"pair-0", "pair-1", "unready-0", "waiting-0", "free-0"}

    dump = tmp_path / "dump.json"
    objects = [json.loads(place.cluster.kubectl("get", *what, "-o", "json")) for what in place_lists(place)]
    dump.write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": [i for o in objects for i in o["items"]]})
    )
    succeeds("replay", dump, db=tmp_path / "db")
    done = leadsman("simulate-drain", place.id, "-o", "json", db=tmp_path / "db")
    assert done.returncode == 1, done.stderr
    fates = {each["pod"]: each for each in json.loads(done.stdout)["pods"]}

    assert {name: each["outcome"] for name, each in fates.items()} == {
        "single-0": "refused",
        "twice-0": "refused",
        "unready-0": "refused",  # unless it is not Ready, which the tables do not say of a pod
        "pair-0": "moves",
        "pair-1": "in_turn",
        "waiting-0": "moves",
        "free-0": "moves",
    }
    assert (
        fates["single-0"]["why"] == "budget single needs 1 healthy pod and has 1; it may go if it is not Ready itself"
    )
    assert "not Ready itself" in fates["unready-0"]["why"]


def place_lists(place: _Place) -> list[tuple[str, ...]]:
    nodes = ("nodes", place.id, f"{place.id}-other")
    return [nodes, ("pods", "-n", place.id), ("poddisruptionbudgets", "-n", place.id)]
