"""The Helm chart: it renders what deploy/kubernetes has, what the API server takes, and no more than is set."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from components.chart import CHART, MANIFESTS, helm, manifests, template
from components.cluster.kubernetes import NEWEST, Cluster
from components.openapi import write_schemas
from components.programs.cache import require
from components.programs.extras import helm_program, kubeconform_program
from generate.chart import documented
from leadsman.run.settings import load

DIGEST: Final = f"sha256:{'0' * 64}"
WORKLOADS: Final = ("StatefulSet", "DaemonSet", "Deployment")
VARIANTS: Final = {
    "as it is": (),
    "through the proxy": ("watch.kubelet=proxy", f"image.digest={DIGEST}", "namespaces.create=true"),
    "a second cluster": (
        "cluster=b",
        *(f"{part}.enabled=false" for part in ("work", "land", "alert", "serve")),
        "watch.kubelet=off",
        "settings.watch.scheduler.urls[0]=https://10.0.0.1:10259",
    ),
    "two receivers": (
        "alert.receivers[0].name=a,alert.receivers[0].to=slack=https://example.org/a",
        "alert.receivers[1].name=b,alert.receivers[1].to=webhook=https://example.org/b",
        "networkPolicy.pageFrom[0].namespaceSelector.matchLabels.name=ingress",
        "imagePullSecrets[0].name=registry",
        "nodeSelector.pool=tools",
        "tolerations[0].operator=Exists",
        "agent.fileSystems[0]=/var/log/empty",
        "settings.kafka.partitions=24",
    ),
    "nothing but the page": (
        *(f"{part}.enabled=false" for part in ("watch", "work", "land", "alert", "agent")),
        "networkPolicy.enabled=false",
    ),
}


@pytest.fixture(autouse=True, scope="module")
def _programs() -> None:
    require(helm_program, kubeconform_program)


def rendered(*settings: str) -> list[dict[str, Any]]:
    return [each for text in template(*settings).values() for each in yaml.safe_load_all(text) if each]


def of_kind(objects: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [each for each in objects if each["kind"] in kinds]


def test_the_chart_passes_helms_own_lint() -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART))


def test_deploy_kubernetes_is_the_chart_rendered() -> None:
    assert {file.name: file.read_text() for file in MANIFESTS.glob("*.yaml")} == manifests(), "run make manifests"


def test_every_value_has_a_meaning_and_no_meaning_is_without_its_value() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert all(meaning for _, _, meaning in documented(schema, values))
    assert {name for name in schema["properties"] if name != "global"} == values.keys()
    for name, value in values.items():
        if inside := schema["properties"][name].get("properties"):
            assert inside.keys() == value.keys()


@pytest.mark.parametrize(
    ("setting", "where"),
    [
        ("watch.kubelet=perhaps", "watch.kubelet"),
        ("watch.replica=2", "replica"),
        ("kafka.bootstrapServers=", "kafka.bootstrapServers"),
        ("image.digest=latest", "image.digest"),
        ("networkPolicy.kafka[0]=90000", "networkPolicy.kafka"),
        ("alert.receivers[0].name=A_B", "alert.receivers"),
        ("agent.fileSystems[0]=/var/lib/kubelet/pki", "agent.fileSystems"),
        ("agent.fileSystems[0]=/data/../var", "agent.fileSystems"),
    ],
)
def test_a_value_that_cannot_be_is_refused_and_named(setting: str, where: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        template(setting)
    message = refused.value.stderr.replace("/", ".")
    assert "values don't meet the specifications of the schema" in message
    assert where in message


@pytest.mark.parametrize(
    ("access", "resources"),
    [
        ("direct", {"nodes/stats", "nodes/metrics", "nodes/configz"}),
        ("proxy", {"nodes/proxy"}),
        ("off", set()),
    ],
)
def test_the_role_has_what_access_to_kubelets_needs(access: str, resources: set[str]) -> None:
    (role,) = of_kind(rendered(f"watch.kubelet={access}"), "ClusterRole")
    assert {name for rule in role["rules"] for name in rule["resources"] if "/" in name} == resources


@pytest.mark.parametrize(
    ("settings", "reached"),
    [
        ((), []),
        (("settings.watch=null",), []),
        (("settings.watch.scheduler=null",), []),
        (("settings.watch.scheduler.urls[0]=https://10.0.0.1:10259",), [10259]),
        (
            (
                "settings.watch.scheduler.urls[0]=https://[fd00::1]:10260/metrics",
                "settings.watch.scheduler.urls[1]=https://a:10260",
            ),
            [10260],
        ),
    ],
)
def test_only_with_schedulers_in_the_settings_may_the_watcher_read_and_reach_their_metrics(
    settings: tuple[str, ...], reached: list[int]
) -> None:
    objects = rendered(*settings)
    (role,) = of_kind(objects, "ClusterRole")
    (policy,) = [each for each in of_kind(objects, "NetworkPolicy") if each["metadata"]["name"].endswith("-watch")]
    rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    ports = [port["port"] for each in policy["spec"]["egress"] for port in each["ports"]]
    assert [port for port in ports if port in {10259, 10260}] == reached
    assert (rule in role["rules"]) == bool(reached)


def test_settings_go_over_the_charts_own_and_make_pods_anew() -> None:
    before, after = rendered(), rendered("settings.kafka.partitions=24", "settings.log=json")
    settings = [yaml.safe_load(each["data"]["leadsman.yaml"]) for each in of_kind(after, "ConfigMap")]
    assert [(each["kafka"]["partitions"], each["log"]) for each in settings] == [(24, "json")] * 2
    assert all(each["kafka"]["bootstrap_servers"] for each in settings)

    def sums(objects: list[dict[str, Any]]) -> list[str]:
        templates = [each["spec"]["template"] for each in of_kind(objects, *WORKLOADS)]
        return [each["metadata"]["annotations"]["checksum/settings"] for each in templates]

    assert not set(sums(before)) & set(sums(after))


SASL: Final = ("settings.kafka.security_protocol=SASL_SSL", "settings.kafka.sasl_mechanism=SCRAM-SHA-512")


def test_each_part_starts_with_its_settings_and_its_own_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page has no credentials of Kafka, so it gets no settings that need them."""
    objects = rendered(*SASL, "settings.log=json", "settings.page.address=https://leadsman.example")
    (maps,) = [each["data"] for each in of_kind(objects, "ConfigMap") if "page.yaml" in each["data"]]
    for pod in of_kind(objects, *WORKLOADS):
        (container,) = pod["spec"]["template"]["spec"]["containers"]
        assert "--config=/etc/leadsman/leadsman.yaml" in container["args"]
        (mount,) = [each for each in container["volumeMounts"] if each["name"] == "settings"]
        file = tmp_path / "leadsman.yaml"
        file.write_text(maps[mount.get("subPath", "leadsman.yaml")])
        secrets = {each["secretRef"]["name"] for each in container.get("envFrom", [])}
        for name in ("USERNAME", "PASSWORD"):
            monkeypatch.delenv(f"LEADSMAN_KAFKA__{name}", raising=False)
            if "leadsman-kafka" in secrets:
                monkeypatch.setenv(f"LEADSMAN_KAFKA__{name}", "x")
        settings = load(file)
        assert (settings.log, settings.page.address) == ("json", "https://leadsman.example")


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_the_notes_name_the_watcher_only_if_there_is_one(tmp_path: Path, enabled: str) -> None:
    """Helm renders notes only against a cluster, so a template of a copy includes them."""
    copy = Path(shutil.copytree(CHART, tmp_path / "chart"))
    text = '{"kind": "Notes", "text": {{ include (print $.Template.BasePath "/NOTES.txt") . | toJson }}}'
    (copy / "templates" / "notes.yaml").write_text(text)
    flags = [f"--kube-version={NEWEST}", "--set=watch.kubelet=proxy", f"--set=watch.enabled={enabled}"]
    shown = helm("template", "leadsman", str(copy), "--show-only=templates/notes.yaml", *flags)
    notes = yaml.safe_load(shown)["text"]
    assert "service/leadsman-page" in notes
    assert ("exec leadsman-watch-0" in notes) == ("WARNING" in notes) == (enabled == "true")


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_pod_has_a_policy_and_reaches_what_its_part_needs(variant: str) -> None:
    objects = rendered(*VARIANTS[variant])
    pods = of_kind(objects, *WORKLOADS)
    selected = {
        (policy["metadata"]["namespace"], policy["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"])
        for policy in of_kind(objects, "NetworkPolicy")
    }
    parts = {
        (pod["metadata"]["namespace"], pod["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"])
        for pod in pods
    }
    assert selected == (set() if "networkPolicy.enabled=false" in VARIANTS[variant] else parts)


def test_nobody_reaches_telemetry_unless_the_values_name_who() -> None:
    def ingress(*values: str) -> dict[str, Any]:
        return {
            policy["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]: policy["spec"]["ingress"]
            for policy in of_kind(rendered(*values), "NetworkPolicy")
        }

    closed = ingress()
    assert closed.pop("serve") == [{"ports": [{"protocol": "TCP", "port": "page"}]}]
    assert len(closed) == 5
    assert not any(closed.values())
    opened = ingress("networkPolicy.telemetryFrom[0].namespaceSelector.matchLabels.name=monitoring")
    prometheus = [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]
    assert opened.pop("serve")
    assert [each["from"] for rules in opened.values() for each in rules] == [prometheus] * 5


def test_only_watch_reaches_the_api_server_and_kubelets() -> None:
    reached = {
        policy["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]: {
            port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]
        }
        for policy in of_kind(rendered(), "NetworkPolicy")
    }
    kafka = {53, 9092, 9093}
    assert reached == {
        "watch": kafka | {443, 6443, 10250},
        "work": kafka,
        "land": kafka | {8123, 8443},
        "alert": kafka | {443},
        "serve": {53, 8123, 8443},
        "agent": kafka,
    }


@pytest.fixture(scope="module")
def namespaces(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster with the namespaces of the chart, as an administrator made them."""
    made = {"chart": "restricted", "chart-agent": "privileged"}
    for name, level in made.items():
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        namespace["metadata"]["labels"] = {"pod-security.kubernetes.io/enforce": level}  # type: ignore[index]
        cluster.kubectl("apply", "--filename=-", stdin=json.dumps(namespace))
    yield cluster
    cluster.kubectl("delete", "namespace", *made, "--ignore-not-found", "--wait=false")


@pytest.mark.components("cluster")
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_api_server_takes_each_variant_and_warns_of_nothing(namespaces: Cluster, variant: str) -> None:
    text = "".join(template(*VARIANTS[variant], "agent.namespace=chart-agent", release="chart").values())
    done = subprocess.run(
        [
            namespaces.program("kubectl"),
            f"--kubeconfig={namespaces.kubeconfig()}",
            *("apply", "--filename=-", "--dry-run=server", "--validate=strict"),
        ],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.components("cluster")
def test_kubeconform_finds_each_variant_valid_and_a_mistake_in_none(cluster: Cluster, tmp_path: Path) -> None:
    kinds = {each["kind"] for each in rendered("namespaces.create=true")}
    schemas = write_schemas(cluster, kinds, tmp_path)

    def conforms(text: str) -> "subprocess.CompletedProcess[str]":
        command = [str(kubeconform_program()), "-strict", "-summary", "-schema-location", schemas]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    for settings in VARIANTS.values():
        done = conforms("".join(template(*settings).values()))
        assert (done.returncode, "Invalid: 0, Errors: 0, Skipped: 0" in done.stdout) == (0, True), done.stdout
    wrong = template()["31-work.yaml"].replace("serviceName", "servizeName")
    assert "Invalid: 1" in conforms(wrong).stdout


@pytest.mark.components("cluster")
def test_helm_installs_upgrades_and_takes_away_a_release(cluster: Cluster) -> None:
    flags = ["--namespace=other", f"--kubeconfig={cluster.kubeconfig()}"]
    own = ["--set=agent.namespace=other-agent"]
    helm("install", "other", str(CHART), "--create-namespace", *flags, *own)
    try:
        helm("upgrade", "other", str(CHART), *flags, *own, "--set=work.replicas=3", "--set=serve.enabled=false")
        there = json.loads(cluster.kubectl("--namespace=other", "get", "statefulsets,deployments", "--output=json"))
        assert {each["metadata"]["name"]: each["spec"]["replicas"] for each in there["items"]} == {
            "other-watch": 2,
            "other-work": 3,
            "other-land": 1,
            "other-alert-alertmanager": 1,
        }
    finally:
        helm("uninstall", "other", *flags)
    assert json.loads(cluster.kubectl("--namespace=other", "get", "statefulsets", "--output=json"))["items"] == []
