"""A real API server, volume controller and scheduler agree where pods with volumes fit (rules: scheduler-volumes)."""

import uuid
from pathlib import Path
from typing import Any, Final

import pytest

from components.cluster.kubernetes import Cluster
from components.command import leadsman, rows, succeeds
from waiting import eventually

pytestmark = pytest.mark.components("cluster")

STORAGE: Final = "/apis/storage.k8s.io/v1"
DRIVER: Final = "disk.example.com"


class _Place:
    """Two nodes, a namespace, two classes and a volume for each node."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.id = cluster, f"vol-{uuid.uuid4().hex[:8]}"
        self.made: list[str] = []
        cluster.make_namespace(self.id)
        self.claims = f"/api/v1/namespaces/{self.id}/persistentvolumeclaims"
        self.pods = f"/api/v1/namespaces/{self.id}/pods"
        for zone in "ab":
            labels = {"place": self.id, "zone": zone}
            self.make("/api/v1/nodes", self.named(zone), labels=labels)
            amounts = {"cpu": "8", "memory": "8Gi", "pods": "20"}
            conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
            status = {"status": {"capacity": amounts, "allocatable": amounts, "conditions": conditions}}
            cluster.request("PATCH", f"/api/v1/nodes/{self.named(zone)}/status", status)
            limit = {"name": DRIVER, "nodeID": zone, "topologyKeys": [], "allocatable": {"count": 1}}
            self.make(f"{STORAGE}/csinodes", self.named(zone), spec={"drivers": [limit]})
        late: dict[str, Any] = {"volumeBindingMode": "WaitForFirstConsumer"}
        topology = [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]
        self.make(
            f"{STORAGE}/storageclasses", self.named("static"), provisioner="kubernetes.io/no-provisioner", **late
        )
        self.make(
            f"{STORAGE}/storageclasses", self.named("made"), provisioner=DRIVER, allowedTopologies=topology, **late
        )
        self.volume("a", claimRef={"namespace": self.id, "name": "bound"})
        self.volume("b")
        self.claim("bound", "static", volumeName=self.named("a"))
        self.claim("static", "static")
        self.claim("made", "made")

    def named(self, name: str) -> str:
        return f"{self.id}-{name}"

    def make(self, path: str, name: str, *, labels: dict[str, str] | None = None, **parts: Any) -> None:
        self.cluster.request("POST", path, {"metadata": {"name": name, "labels": labels or {}}, **parts})
        if "/namespaces/" not in path:
            self.made.append(f"{path}/{name}")

    def volume(self, zone: str, **more: Any) -> None:
        expression = {"key": "zone", "operator": "In", "values": [zone]}
        spec = {
            "storageClassName": self.named("static"),
            "capacity": {"storage": "2Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": DRIVER, "volumeHandle": self.named(zone)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        }
        self.make("/api/v1/persistentvolumes", self.named(zone), spec={**spec, **more})

    def claim(self, name: str, of: str, **more: Any) -> None:
        requests = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
        self.make(self.claims, name, spec={"storageClassName": self.named(of), **requests, **more})

    def pod(self, name: str, claim: str, scheduler: str = "default-scheduler") -> None:
        spec = {
            "schedulerName": scheduler,
            "nodeSelector": {"place": self.id},
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "none"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        }
        self.make(self.pods, name, spec=spec)

    def node_of(self, pod: str) -> str:
        return str(self.cluster.request("GET", f"{self.pods}/{pod}")["spec"].get("nodeName", ""))

    def refusal_of(self, pod: str) -> str:
        conditions = self.cluster.request("GET", f"{self.pods}/{pod}")["status"].get("conditions", [])
        return next((each["message"] for each in conditions if each["type"] == "PodScheduled"), "")

    def clear(self) -> None:
        self.cluster.request("DELETE", f"/api/v1/namespaces/{self.id}")
        for path in reversed(self.made):
            self.cluster.request("DELETE", path)


def test_pods_fit_where_the_scheduler_puts_them_and_are_refused_in_its_words(
    cluster: Cluster, tmp_path: Path
) -> None:
    place = _Place(cluster)
    try:
        for name in ("bound", "static"):
            place.pod(f"p-{name}", name)
            eventually(f"p-{name} is scheduled", lambda name=name: place.node_of(f"p-{name}"))  # type: ignore[misc]
            place.pod(f"q-{name}", name, "nobody")
        claims = f"{place.claims}/static"
        eventually("the claim is bound", lambda: cluster.request("GET", claims)["status"].get("phase") == "Bound")
        for name in ("made", "missing"):
            place.pod(f"p-{name}", name)
            eventually(f"p-{name} is refused", lambda name=name: place.refusal_of(f"p-{name}"))  # type: ignore[misc]
        words = {name: place.refusal_of(f"p-{name}") for name in ("made", "missing")}
        chosen = {name: place.node_of(f"p-{name}") for name in ("bound", "static")}
        folder = tmp_path / "capture"
        flags = [f"--kubeconfig={cluster.kubeconfig()}", "--kubelet=off", "--seconds=10", f"--output={folder}"]
        done = leadsman("capture", *flags)
        assert done.returncode == 0, done.stderr
    finally:
        place.clear()
    assert chosen == {"bound": place.named("a"), "static": place.named("b")}
    succeeds("replay", "--quiet", folder, db=tmp_path / "db")
    reported = rows(
        "SELECT pod, node, reasons, unknowns FROM pending_fit "
        f"WHERE namespace = '{place.id}' AND startsWith(node, '{place.id}')",
        tmp_path / "db",
    )
    judged = {(pod, node): (reasons, unknowns) for pod, node, reasons, unknowns in reported}
    assert len(judged) == 8
    for name, node in chosen.items():
        assert [each for each in "ab" if judged[f"q-{name}", place.named(each)] == ([], [])] == [node[-1]]
    for name, text in words.items():
        for zone in "ab":
            reasons, unknowns = judged[f"p-{name}", place.named(zone)]
            assert not unknowns
            # It stops at the first plugin that refuses a node.
            assert reasons[0] in text, (reasons, text)
