"""deploy/kubernetes on the real API server: it takes all of it, and the watcher needs each verb of its role."""

import json
import re
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import pytest
import yaml

from components.chart import MANIFESTS
from components.cluster.kubelet import CONFIG, RealNode
from components.cluster.kubernetes import ApiError, Cluster
from components.command import COMMAND, ENVIRONMENT, leadsman, leadsman_process, succeeds
from components.kafka import Kafka
from components.processes import HOST, free_port
from components.secured import Authority
from components.telemetry import is_ready, why_not_ready
from components.topics import messages
from ingest.apiserver.leader import LeaseName
from ingest.live.settings import LiveSettings
from leadsman.run.permissions import of_kubelets, of_lease, of_resources
from waiting import NotReady, eventually

pytestmark = pytest.mark.components("cluster")

KUBELET_RECORDS: Final = {"summary", "metrics", "settings"}
PARTS: Final = {"watch", "work", "land", "alert", "serve", "agent"}
_KINDS: Final = {"Deployment", "StatefulSet", "DaemonSet", "NetworkPolicy", "PodDisruptionBudget"}
ROLE: Final = "/apis/rbac.authorization.k8s.io/v1/clusterroles/leadsman-watch"


def documents() -> list[dict[str, Any]]:
    return [each for file in sorted(MANIFESTS.glob("*.yaml")) for each in yaml.safe_load_all(file.read_text())]


def workloads() -> dict[str, dict[str, Any]]:
    """Return the workloads by the part that they run."""
    kinds = {"Deployment", "StatefulSet", "DaemonSet"}
    return {
        each["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"]: each
        for each in documents()
        if each["kind"] in kinds
    }


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


def test_parts_whose_names_count_keep_them() -> None:
    """A place in a group of Kafka, and the Lease, are taken up at once by who comes back under the same name."""
    kinds = {part: workload["kind"] for part, workload in workloads().items()}
    assert kinds == dict.fromkeys(("watch", "work", "land", "alert"), "StatefulSet") | {
        "serve": "Deployment",
        "agent": "DaemonSet",
    }
    (identity,) = container(workloads()["watch"])["env"]
    assert identity["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    environment = ENVIRONMENT | {identity["name"]: "leadsman-watch-0"}
    shown = subprocess.run([COMMAND, "config"], capture_output=True, text=True, env=environment, check=True)
    assert "identity: leadsman-watch-0" in shown.stdout


def test_the_api_server_takes_everything_and_warns_of_nothing(applied: Cluster) -> None:
    kinds = "deployments,statefulsets,daemonsets,networkpolicies,poddisruptionbudgets"
    there = json.loads(applied.kubectl("get", kinds, "--all-namespaces", "--output=json"))
    named = {(each["kind"], each["metadata"]["name"]) for each in there["items"]}
    assert named >= {(each["kind"], each["metadata"]["name"]) for each in documents() if each["kind"] in _KINDS}


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
    assert from_host == {"sys", "cgroup", "stat", "meminfo", "kubelet"}
    assert all(each["readOnly"] for each in mounts if each["name"] in from_host)
    hidden = {Path(each["mountPath"]).name for each in mounts if each["name"] == "masked"}
    assert hidden == {"pods", "pki", "device-plugins", "plugins", "plugins_registry"}
    assert {each["mountPath"] for each in mounts if each["name"] == "sys"} == {"/host/sys/devices/system"}


def test_what_the_agent_reads_is_of_root_alone(real_node: RealNode) -> None:
    """So it cannot be another user, whatever its groups; and what hides the rest has folders to lie on."""
    folder = real_node.folder / "kubelet"
    state = (folder / "cpu_manager_state").stat()
    assert (state.st_uid, state.st_mode & 0o077) == (0, 0)
    socket = (folder / "pod-resources" / "kubelet.sock").stat()
    assert (socket.st_uid, socket.st_mode & 0o022) == (0, 0)
    mounts = container(workloads()["agent"])["volumeMounts"]
    hidden = {Path(each["mountPath"]).name for each in mounts if each["name"] == "masked"}
    assert hidden - {each.name for each in folder.iterdir()} <= {"pki", "device-plugins"}


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
    name, port = ("page", 8420) if part == "serve" else ("telemetry", 9300)
    assert ports == {name: port}
    assert asked["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": name}
    assert asked["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": name}


class Watching:
    """`leadsman watch` with the service account of the manifests."""

    def __init__(self, cluster: Cluster, kafka: Kafka, folder: Path, prefix: str, **kubelet: Any) -> None:
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
                "kubelet": {"access": "off", "summary_seconds": 1, "metrics_seconds": 1, **kubelet},
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
        """Return the records on the nodes' log about one of them."""
        key = f"default/{node}".encode()
        return b"\n".join(bytes(each.value) for each in messages(self.servers, self.topic) if each.key == key)

    def read_of(self, node: str) -> set[str]:
        """The kinds of what its kubelet answered."""
        return {kind for kind in KUBELET_RECORDS if f'"kind":"{kind}"'.encode() in self.told_of(node)}

    def failed_of(self, node: str) -> set[str]:
        """The resources of its kubelet that could not be read."""
        errors = [line for line in self.told_of(node).splitlines() if b'"kind":"source_error"' in line]
        return {json.loads(line)["resource"] for line in errors}

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
def test_with_one_verb_less_that_stream_is_reported_and_the_others_run(
    applied: Cluster, kafka: Kafka, tmp_path: Path, role: list[dict[str, Any]], resource: str, verb: str
) -> None:
    rules = _without(role, resource, verb)
    applied.request("PATCH", ROLE, {"rules": rules})
    with Watching(applied, kafka, tmp_path, f"rbac-{resource}-{verb}") as watching:
        eventually(f"{resource} is told: {watching.process.log}", lambda: watching.refused() == {resource})
        eventually("it is logged", lambda: "a stream is degraded" in watching.process.log.read_text())
        with pytest.raises(NotReady):
            watching.process.wait(1)


@dataclass(frozen=True)
class AskingKubelet:
    """A real kubelet that asks the API server who may, with a certificate of an authority of its own."""

    node: RealNode
    settings: dict[str, Any]
    """Settings under `watch.kubelet`."""
    certificate: dict[str, str]
    """Files of its certificate; without one a kubelet signs its own."""


@pytest.fixture(scope="module")
def kubelet(real_node: RealNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskingKubelet]:
    authority = Authority(tmp_path_factory.mktemp("kubelet"), "kubelets")
    certificate = dict(zip(("tlsCertFile", "tlsPrivateKeyFile"), map(str, authority.issue("kubelet")), strict=True))
    real_node.restart_kubelet(
        {
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True, "cacheTTL": "1s"}},
            "authorization": {
                "mode": "Webhook",
                "webhook": {"cacheAuthorizedTTL": "1s", "cacheUnauthorizedTTL": "1s"},
            },
            **certificate,
        }
    )
    yield AskingKubelet(
        real_node,
        {
            "access": "direct",
            "ca_file": str(authority.ca_file),
            "addresses": {real_node.name: f"{HOST}:{real_node.port}"},
        },
        certificate,
    )
    before = {name: CONFIG[name] for name in ("authentication", "authorization")}
    real_node.restart_kubelet(before | dict.fromkeys(certificate, ""))


def test_a_real_kubelet_answers_an_account_with_exactly_this_role(
    applied: Cluster, kafka: Kafka, tmp_path: Path, kubelet: AskingKubelet
) -> None:
    with Watching(applied, kafka, tmp_path, "rbac-kubelet", **kubelet.settings) as watching:
        eventually("all is read", lambda: watching.read_of(kubelet.node.name) == KUBELET_RECORDS)
        assert is_ready(watching.port)
        assert watching.failed_of(kubelet.node.name) == set()
    done = leadsman("validate", f"--config={tmp_path / 'leadsman.yaml'}", db=tmp_path / "db")
    cluster = [line for line in done.stdout.splitlines() if line.startswith("cluster: ")]
    assert {line for line in cluster if not line.endswith(": ok")} == set()
    assert f"kubelet of {kubelet.node.name}: ok" in done.stdout


@pytest.mark.parametrize(
    ("permission", "resource", "missing"),
    [
        ("nodes/configz", "configz", "settings"),
        ("nodes/metrics", "metrics", "metrics"),
        ("nodes/stats", "stats/summary", "summary"),
    ],
)
def test_what_a_real_kubelet_does_not_allow_is_missing_and_nothing_else(
    applied: Cluster,
    kafka: Kafka,
    tmp_path: Path,
    role: list[dict[str, Any]],
    kubelet: AskingKubelet,
    permission: str,
    resource: str,
    missing: str,
) -> None:
    left = [{**rule, "resources": [each for each in rule["resources"] if each != permission]} for rule in role]
    applied.request("PATCH", ROLE, {"rules": left})
    name = kubelet.node.name
    with Watching(applied, kafka, tmp_path, f"rbac-{missing}", **kubelet.settings) as watching:
        rest = KUBELET_RECORDS - {missing}
        eventually("the others are read", lambda: watching.read_of(name) == rest)
        eventually("it is reported", lambda: watching.failed_of(name) == {resource})
        assert f"Allow get on {permission} in the ClusterRole".encode() in watching.told_of(name)
        assert watching.refused() == set()


def test_a_kubelet_that_signs_its_certificate_itself_gets_no_token_and_the_cure_is_named(
    applied: Cluster, kafka: Kafka, tmp_path: Path, kubelet: AskingKubelet
) -> None:
    """Its certificate has the name of its node and no address; it is trusted where it is the pinned CA."""
    node, settings = kubelet.node, kubelet.settings
    node.restart_kubelet(dict.fromkeys(kubelet.certificate, ""))
    try:
        clusters = {**settings, "ca_file": None}
        with Watching(applied, kafka, tmp_path, "rbac-signed", **clusters) as watching:
            eventually("the cure is named", lambda: b"serverTLSBootstrap" in watching.told_of(node.name))
            assert watching.read_of(node.name) == set()
        pinned = {**settings, "ca_file": str(node.folder / "pki" / "kubelet.crt")}
        (tmp_path / "pinned").mkdir()
        with Watching(applied, kafka, tmp_path / "pinned", "rbac-pinned", **pinned) as watching:
            eventually("it is read", lambda: "summary" in watching.read_of(node.name))
    finally:
        node.restart_kubelet(kubelet.certificate)


def test_the_shipped_role_is_what_the_default_settings_need() -> None:
    """Not a verb more, and not one less; that the API server agrees is for the tests above."""
    roles = [each for each in documents() if each["kind"] in {"ClusterRole", "Role"}]
    granted = {
        (group, resource, verb, role["metadata"].get("namespace", ""))
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    settings = LiveSettings()
    lease = LeaseName("leadsman", "leadsman-watch")
    needed = [*of_resources(settings), *of_kubelets(settings.kubelet), *of_lease(lease)]
    assert granted == {(each.group, each.resource, each.verb, each.namespace) for each in needed}


def test_without_the_proxy_the_kubelets_are_reported_as_forbidden_and_all_else_runs(
    applied: Cluster, kafka: Kafka, tmp_path: Path, node: str
) -> None:
    """The shipped role does not have it."""
    with Watching(applied, kafka, tmp_path, "rbac-proxy", access="proxy") as watching:
        eventually("the risk is logged", lambda: "can run commands in every pod" in watching.process.log.read_text())
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
