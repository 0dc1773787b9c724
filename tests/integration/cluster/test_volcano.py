"""Volcano's Numatopologies on the real API server, read with no right but those of the shipped role."""

import json
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from components.chart import MANIFESTS
from components.cluster.kubernetes import ApiError, Cluster
from components.command import leadsman, leadsman_process, rows
from paths import SCENARIOS
from waiting import eventually

pytestmark = pytest.mark.components("cluster")

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
GROUP: Final = "nodeinfo.volcano.sh"
NUMATOPOLOGIES: Final = f"/apis/{GROUP}/v1alpha1/numatopologies"

TEXTS: Final = {"type": "object", "additionalProperties": {"type": "string"}}
INTEGER: Final = {"type": "integer"}
PLACE: Final = {"type": "object", "properties": {"numa": INTEGER, "socket": INTEGER, "core": INTEGER}}
AMOUNT: Final = {"type": "object", "properties": {"allocatable": {"type": "string"}, "capacity": INTEGER}}
SPEC: Final = {
    "policies": TEXTS,
    "resReserved": TEXTS,
    "numares": {"type": "object", "additionalProperties": AMOUNT},
    "cpuDetail": {"type": "object", "additionalProperties": PLACE},
    "podAllocations": {
        "type": "array",
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
"""Types of the fields (rules: crane-and-volcano): the API server drops what is not named here."""
DEFINITION: Final[dict[str, Any]] = {
    "metadata": {"name": f"numatopologies.{GROUP}"},
    "spec": {
        "group": GROUP,
        "names": {
            "kind": "Numatopology",
            "listKind": "NumatopologyList",
            "plural": "numatopologies",
            "singular": "numatopology",
        },
        "scope": "Cluster",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": SPEC}},
                    }
                },
            }
        ],
    },
}


def shipped_rules() -> Any:
    """The rules that the shipped ClusterRole of the watcher grants."""
    documents = yaml.safe_load_all((MANIFESTS / "10-rbac.yaml").read_text())
    (role,) = (each for each in documents if each["kind"] == "ClusterRole")
    return role["rules"]


@pytest.fixture
def volcano(cluster: Cluster) -> Iterator[Cluster]:
    """The API server serves Numatopologies, and `leadsman` may do what the shipped role grants."""
    name = f"volcano-{uuid.uuid4().hex[:8]}"
    role: dict[str, Any] = {"metadata": {"name": name}, "rules": shipped_rules()}
    binding: dict[str, Any] = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": "leadsman", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    made: tuple[tuple[str, Any], ...] = (
        (f"{RBAC}/clusterroles", role),
        (f"{RBAC}/clusterrolebindings", binding),
        (CRDS, DEFINITION),
    )
    with ExitStack() as stack:
        for path, body in made:
            cluster.request("POST", path, body)
            stack.callback(cluster.request, "DELETE", f"{path}/{body['metadata']['name']}")
        eventually("Numatopologies are served", lambda: _is_served(cluster))
        yield cluster


def _is_served(cluster: Cluster) -> bool:
    with suppress(ApiError):
        cluster.request("GET", NUMATOPOLOGIES)
        return True
    return False


def test_a_numatopology_becomes_its_numa_nodes_with_the_shipped_role(volcano: Cluster, tmp_path: Path) -> None:
    scenario = SCENARIOS / "numa_volcano"
    first, second = (json.loads(line)["object"] for line in (scenario / "capture.jsonl").read_text().splitlines())
    volcano.request("POST", NUMATOPOLOGIES, first)
    folder = tmp_path / "capture"
    flags = (f"--output={folder}", f"--kubeconfig={volcano.kubeconfig('leadsman')}", "--kubelet=off", "--cluster=lab")
    capture = leadsman_process("capture", *flags, folder=tmp_path)
    capture.start()
    try:
        eventually("the one that was there is listed", lambda: _captured(folder) == {("list", "v1")})
        volcano.request("POST", NUMATOPOLOGIES, second)
        eventually("a new one is watched", lambda: _captured(folder) == {("list", "v1"), ("watch", "v2")})
    finally:
        capture.stop()
    lines = [line for file in folder.iterdir() for line in file.read_text().splitlines()]
    assert [line for line in lines if '"type":"ERROR"' in line and "403" in line] == []

    replayed = leadsman("replay", "-q", folder, db=tmp_path / "db")
    assert replayed.returncode == 0, replayed.stderr
    lines = (scenario / "expected" / "numa_allocations.jsonl").read_text().splitlines()
    expected = [json.loads(line) for line in lines]
    found = rows(
        f"SELECT {', '.join(expected[0])} FROM numa_allocations WHERE node IN ('v1', 'v2') ORDER BY node, numa_node",
        tmp_path / "db",
    )
    assert found == [tuple(each.values()) for each in expected]


def _captured(folder: Path) -> set[tuple[str, str]]:
    """Return the way in which each captured Numatopology came."""
    lines = (line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines())
    observed = (json.loads(line) for line in lines if '"kind":"Numatopology"' in line)
    return {(each["source"], each["object"]["metadata"]["name"]) for each in observed}
