"""deploy/kubernetes on the real API server: it takes all of it, and the watcher needs each verb of its role."""

import json
import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Self

import pytest
import yaml

from components.cluster.kubernetes import ApiError, Cluster
from components.command import COMMAND, ENVIRONMENT, leadsman_process, succeeds
from components.kafka import Kafka
from components.processes import free_port
from components.telemetry import is_ready, why_not_ready
from components.topics import messages
from paths import ROOT
from waiting import NotReady, eventually

pytestmark = pytest.mark.xdist_group("cluster")

MANIFESTS: Final = ROOT / "deploy" / "kubernetes"
PARTS: Final = {"watch", "work", "land", "alert", "serve", "agent"}
ROLE: Final = "/apis/rbac.authorization.k8s.io/v1/clusterroles/leadsman-watch"


def documents() -> list[dict[str, Any]]:
    return [each for file in sorted(MANIFESTS.glob("*.yaml")) for each in yaml.safe_load_all(file.read_text())]


def workloads() -> dict[str, dict[str, Any]]:
    """Deployments and DaemonSets by the part that they run."""
    return {each["metadata"]["name"]: each for each in documents() if each["kind"] in {"Deployment", "DaemonSet"}}


def container(workload: dict[str, Any]) -> dict[str, Any]:
    (only,) = workload["spec"]["template"]["spec"]["containers"]
    return dict(only)


@pytest.fixture(scope="module")
def applied(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster with all manifests; they go with it."""
    told = subprocess.run(
        [
            cluster.program("kubectl"),
            f"--kubeconfig={cluster.kubeconfig()}",
            "apply",
            f"--filename={MANIFESTS}",
            "--validate=strict",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert "Warning" not in told.stderr, told.stderr
    yield cluster
    cluster.kubectl("delete", f"--filename={MANIFESTS}", "--ignore-not-found", "--wait=false")


def test_there_is_a_workload_for_each_part() -> None:
    assert workloads().keys() == PARTS


def test_the_api_server_takes_everything_and_warns_of_nothing(applied: Cluster) -> None:
    there = json.loads(applied.kubectl("get", "deployments,daemonsets", "--all-namespaces", "--output=json"))
    assert {each["metadata"]["name"] for each in there["items"]} >= PARTS


def test_the_pods_pass_the_admission_of_their_namespaces(applied: Cluster) -> None:
    """A Deployment is taken whatever its pods are; the pods themselves meet Pod Security."""
    for name, workload in workloads().items():
        template = workload["spec"]["template"]
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, **template["metadata"]},
            # the account's controller may not be done yet; what is asked here is the security of the pod
            "spec": {key: value for key, value in template["spec"].items() if key != "serviceAccountName"}
            | {"automountServiceAccountToken": False, "serviceAccountName": "default"},
        }
        namespace = workload["metadata"]["namespace"]
        eventually("the account is there", lambda ns=namespace: _has_account(applied, ns))  # type: ignore[misc]
        admitted = applied.request("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
        assert admitted["metadata"]["name"] == name


def _has_account(cluster: Cluster, namespace: str) -> bool:
    try:
        cluster.request("GET", f"/api/v1/namespaces/{namespace}/serviceaccounts/default")
    except ApiError:
        return False
    return True


@pytest.mark.parametrize("part", sorted(PARTS))
def test_a_container_has_no_rights_that_it_does_not_need(part: str) -> None:
    spec = workloads()[part]["spec"]["template"]["spec"]
    security = container(workloads()[part])["securityContext"]
    assert security == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["securityContext"].get("runAsNonRoot", False) == (part != "agent")
    assert (spec.get("automountServiceAccountToken") is False) == (part != "watch")
    assert container(workloads()[part])["resources"]["requests"].keys() == {"cpu", "memory"}


def test_the_agent_reads_its_node_and_writes_nothing_there() -> None:
    agent = workloads()["agent"]
    from_host = {each["name"] for each in agent["spec"]["template"]["spec"]["volumes"] if "hostPath" in each}
    mounts = container(agent)["volumeMounts"]
    assert from_host == {"sys", "kubelet"}
    assert all(each["readOnly"] for each in mounts if each["name"] in from_host)
    hidden = {each["mountPath"] for each in mounts if each["name"] == "nothing"}
    assert hidden == {"/host/var/lib/kubelet/pods", "/host/var/lib/kubelet/pki"}


@pytest.mark.parametrize("part", sorted(PARTS))
def test_each_command_of_the_manifests_is_one_that_the_command_takes(part: str) -> None:
    args = [*container(workloads()[part])["args"], "--help"]
    done = subprocess.run([COMMAND, *args], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr


def test_the_settings_of_the_config_maps_are_taken(tmp_path: Path) -> None:
    maps = [each for each in documents() if each["kind"] == "ConfigMap"]
    assert len(maps) == 2
    for number, each in enumerate(maps):
        file = tmp_path / f"{number}.yaml"
        file.write_text(each["data"]["leadsman.yaml"])
        assert "port: 9300" in succeeds("config", f"--config={file}")


@pytest.mark.parametrize("part", sorted(PARTS))
def test_probes_ask_what_the_part_serves(part: str) -> None:
    asked = container(workloads()[part])
    ports = {each["name"]: each["containerPort"] for each in asked["ports"]}
    wanted = ("page", 8420, "/healthz") if part == "serve" else ("telemetry", 9300, "/readyz")
    assert ports == {wanted[0]: wanted[1]}
    assert asked["readinessProbe"]["httpGet"] == {"path": wanted[2], "port": wanted[0]}
    assert asked["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": wanted[0]}


class Watching:
    """`leadsman watch` with the service account of the manifests."""

    def __init__(self, cluster: Cluster, kafka: Kafka, folder: Path, prefix: str, kubelet: str = "off") -> None:
        token = cluster.kubectl("--namespace=leadsman", "create", "token", "leadsman-watch").strip()
        config = json.loads(cluster.kubeconfig().read_text())
        config["users"][0]["user"] = {"token": token}
        (folder / "kubeconfig").write_text(json.dumps(config))
        self.port, self.topic, self.servers = free_port(), f"{prefix}.nodes", kafka.bootstrap_servers
        given = {
            "kafka": {"bootstrap_servers": kafka.bootstrap_servers, "topic_prefix": prefix, "partitions": 1},
            "telemetry": {"port": self.port},
            "watch": {
                "kubeconfig": str(folder / "kubeconfig"),
                "election": {"namespace": "leadsman", "name": "leadsman-watch"},
                "kubelet": {"access": kubelet, "summary_seconds": 1, "metrics_seconds": 1},
            },
        }
        (folder / "leadsman.yaml").write_text(yaml.safe_dump(given))
        self.process = leadsman_process("watch", f"--config={folder / 'leadsman.yaml'}", folder=folder)

    def __enter__(self) -> Self:
        self.process.start()
        self.process.await_ready(lambda: "watching begins" in self.process.last_lines(), 90)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stop()

    def told_of(self, node: str) -> bytes:
        """What is on the nodes' log about one of them."""
        key = f"default/{node}".encode()
        return b"\n".join(bytes(each.value) for each in messages(self.servers, self.topic) if each.key == key)

    def refused(self) -> set[str]:
        """The streams that are not allowed."""
        found = [re.match(r"(\S+) cannot be read: .*403", reason) for reason in why_not_ready(self.port)]
        return {match[1] for match in found if match}


@pytest.fixture
def node(cluster: Cluster) -> Iterator[str]:
    """A Node without a kubelet."""
    name = f"rbac-{uuid.uuid4().hex[:6]}"
    cluster.request("POST", "/api/v1/nodes", {"metadata": {"name": name}})
    status = {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]}
    cluster.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": status})
    yield name
    cluster.request("DELETE", f"/api/v1/nodes/{name}")


@pytest.fixture
def role(applied: Cluster) -> Iterator[list[dict[str, Any]]]:
    """The rules of the role; they are put back."""
    rules = applied.request("GET", ROLE)["rules"]
    yield json.loads(json.dumps(rules))
    applied.request("PATCH", ROLE, {"rules": rules})


def test_the_watcher_works_with_exactly_this_role(applied: Cluster, kafka: Kafka, tmp_path: Path) -> None:
    with Watching(applied, kafka, tmp_path, "rbac-all") as watching:
        eventually("it is ready", lambda: is_ready(watching.port))
        assert "degraded" not in watching.process.log.read_text()


@pytest.mark.parametrize(
    ("resource", "verb"), [(r, v) for r in ("nodes", "pods", "events") for v in ("list", "watch")]
)
def test_with_one_verb_less_that_stream_is_told_and_the_others_run(
    applied: Cluster, kafka: Kafka, tmp_path: Path, role: list[dict[str, Any]], resource: str, verb: str
) -> None:
    rules = _without(role, resource, verb)
    applied.request("PATCH", ROLE, {"rules": rules})
    with Watching(applied, kafka, tmp_path, f"rbac-{resource}-{verb}") as watching:
        eventually(f"{resource} is told: {watching.process.log}", lambda: watching.refused() == {resource})
        eventually("it is logged", lambda: "a stream is degraded" in watching.process.log.read_text())
        with pytest.raises(NotReady):
            watching.process.wait(1)


def test_without_the_proxy_the_kubelets_are_told_as_forbidden_and_all_else_runs(
    applied: Cluster, kafka: Kafka, tmp_path: Path, role: list[dict[str, Any]], node: str
) -> None:
    applied.request("PATCH", ROLE, {"rules": [rule for rule in role if rule["resources"] != ["nodes/proxy"]]})
    with Watching(applied, kafka, tmp_path, "rbac-proxy", kubelet="proxy") as watching:
        eventually("it is told", lambda: b"nodes/proxy" in watching.told_of(node))
        eventually("it is silent", lambda: any(f"kubelet/{node}" in each for each in why_not_ready(watching.port)))
        assert watching.refused() == set()


def _without(rules: list[dict[str, Any]], resource: str, verb: str) -> list[dict[str, Any]]:
    core = next(rule for rule in rules if resource in rule["resources"])
    others = [rule for rule in rules if rule is not core]
    rest = [each for each in core["resources"] if each != resource]
    left = [each for each in core["verbs"] if each != verb]
    return [
        *others,
        {"apiGroups": core["apiGroups"], "resources": rest, "verbs": core["verbs"]},
        {"apiGroups": core["apiGroups"], "resources": [resource], "verbs": left},
    ]
