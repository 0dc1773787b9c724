"""Common dumps become observations (rules: event-fields)."""

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ingest.files.lines import SourceError
from ingest.files.sources import read_sources
from ingest.model.observation import Observed, Unreadable
from paths import NODE_PRESSURE

AT = datetime(2026, 12, 24, 18, 0, tzinfo=UTC)
NODE = "real-node-1"


@pytest.fixture(scope="module")
def recorded() -> dict[str, list[dict[str, Any]]]:
    """The objects of a real cluster and kubelet, by resource; of pods, nodes and events the first list."""
    found: dict[str, list[dict[str, Any]]] = {}
    with gzip.open(NODE_PRESSURE) as file:
        for line in map(json.loads, file):
            if line["source"] == "list" or line["type"] == "SNAPSHOT":
                found.setdefault(line["resource"], []).append(line["object"])
    return found


def observed(paths: Path | Iterable[Path], **options: Any) -> list[Observed]:
    entries = list(read_sources([paths] if isinstance(paths, Path) else list(paths), **options))
    assert [entry for entry in entries if isinstance(entry, Unreadable)] == []
    return [entry for entry in entries if isinstance(entry, Observed) and not entry.is_implied]


def objects(entries: Iterable[Observed], resource: str) -> list[Any]:
    return [
        json.loads(bytes(entry.observation.object)) for entry in entries if entry.observation.resource == resource
    ]


def resources(entries: Iterable[Observed]) -> Counter[str]:
    return Counter(entry.observation.resource for entry in entries)


def write(path: Path, value: Any, *, indent: int | None = 4) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=indent) + "\n")
    return path


def pod(name: str, uid: str = "u", version: str = "1", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": version}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, **fields}}


def _name(item: dict[str, Any]) -> str:
    return str(item["metadata"]["name"])


def listed(*items: Any, kind: str = "List") -> dict[str, Any]:
    return {"apiVersion": "v1", "items": list(items), "kind": kind, "metadata": {"resourceVersion": ""}}


# --- kubectl get -o json


def test_list_gives_each_item_as_added(tmp_path: Path, recorded: dict[str, list[dict[str, Any]]]) -> None:
    pods = [{**pod, "kind": "Pod", "apiVersion": "v1"} for pod in recorded["pods"]]
    path = write(tmp_path / "pods.json", listed(*pods))
    entries = observed(path, cluster="prod")
    assert objects(entries, "pods") == pods
    assert {entry.observation.source for entry in entries} == {"list"}
    assert {entry.observation.type for entry in entries} == {"ADDED"}
    assert {entry.observation.cluster for entry in entries} == {"prod"}
    assert {entry.observation.node for entry in entries} == {""}
    assert [entry.position for entry in entries] == [(str(path), f"items[{index}]") for index in range(len(pods))]
    assert [json.loads(entry.raw) for entry in entries] == pods


def test_the_cluster_is_default_without_a_name(tmp_path: Path) -> None:
    assert observed(write(tmp_path / "a", pod("a")))[0].observation.cluster == "default"


def test_items_of_a_typed_list_need_no_kind(tmp_path: Path, recorded: dict[str, list[dict[str, Any]]]) -> None:
    for kind, resource in (("NodeList", "nodes"), ("PodList", "pods"), ("EventList", "events")):
        items = [{key: item[key] for key in item if key not in {"kind", "apiVersion"}} for item in recorded[resource]]
        entries = observed(write(tmp_path / resource, listed(*items, kind=kind)))
        assert sorted(objects(entries, resource), key=_name) == sorted(items, key=_name)


@pytest.mark.parametrize("api_version", ["v1", "events.k8s.io/v1", "events.k8s.io/v1beta1"])
def test_events_of_both_apis_are_taken(tmp_path: Path, api_version: str) -> None:
    event = {"apiVersion": api_version, "kind": "Event", "metadata": {"name": "e"}}
    assert resources(observed(write(tmp_path / "e", event))) == {"events": 1}


@pytest.mark.parametrize(
    "group", ["topology.node.k8s.io/v1alpha1", "topology.node.k8s.io/v1alpha2", "topology.crane.io/v1alpha1"]
)
def test_noderesourcetopologies_are_taken(tmp_path: Path, group: str) -> None:
    topology = {"apiVersion": group, "kind": "NodeResourceTopology", "metadata": {"name": "n"}}
    assert resources(observed(write(tmp_path / "t", topology))) == {"noderesourcetopologies": 1}


def test_other_kinds_are_left_out_and_counted_never_read(tmp_path: Path) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"key": "hush"}}
    config_node = {"apiVersion": "config.openshift.io/v1", "kind": "Node", "metadata": {"name": "cluster"}}
    path = write(tmp_path / "all.json", listed(secret, pod("a"), secret, config_node))
    skipped: Counter[str] = Counter()
    entries = observed(path, skipped=skipped)
    assert resources(entries) == {"pods": 1}
    assert skipped == {"Secret": 2, "Node": 1}
    assert not any(b"hush" in entry.raw for entry in entries)


def test_object_by_itself_is_taken(tmp_path: Path) -> None:
    assert objects(observed(write(tmp_path / "pod.json", pod("a"))), "pods") == [pod("a")]


def test_empty_list_is_no_mistake(tmp_path: Path) -> None:
    assert observed(write(tmp_path / "none.json", listed())) == []


@pytest.mark.parametrize("indent", [4, None])
def test_of_a_watch_a_repeated_object_is_modified(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "watch.json"
    versions = [pod("a"), pod("b", "v"), pod("a", version="2"), pod("a", version="2"), pod("a", uid="new")]
    path.write_text("".join(json.dumps(version, indent=indent) + "\n" for version in versions))
    entries = observed(path)
    seen = [(json.loads(entry.raw)["metadata"]["name"], entry.observation.type) for entry in entries]
    # the same version again says nothing new; another uid is another pod
    assert sorted(seen) == [("a", "ADDED"), ("a", "ADDED"), ("a", "MODIFIED"), ("b", "ADDED")]


def test_watch_events_keep_their_type(tmp_path: Path) -> None:
    path = tmp_path / "watch.json"
    events: list[dict[str, Any]] = [
        {"type": "ADDED", "object": pod("a")},
        {"type": "MODIFIED", "object": pod("a", version="2")},
        {"type": "BOOKMARK", "object": pod("", "", "3")},
        {"type": "DELETED", "object": pod("a", version="4")},
    ]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    entries = observed(path)
    assert [(e.observation.source, e.observation.type) for e in entries] == [
        ("watch", "ADDED"),
        ("watch", "MODIFIED"),
        ("watch", "DELETED"),
    ]
    assert objects(entries, "pods")[0] == pod("a")


def test_file_of_powershell_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pods.json"
    path.write_bytes(json.dumps(listed(pod("größe")), indent=4).replace("\n", "\r\n").encode("utf-16"))
    assert objects(observed(path), "pods") == [pod("größe")]


@pytest.mark.parametrize("kind", ["List", "PodList"])
def test_of_a_list_that_is_cut_off_every_complete_item_is_kept(tmp_path: Path, kind: str) -> None:
    items = [pod(f"pod-{number}", uid=str(number)) for number in range(20)]
    text = json.dumps({"kind": kind, "apiVersion": "v1", "items": items}, indent=4)
    path = tmp_path / "pods.json"
    cut = text.index("pod-12")
    path.write_text(text[:cut])
    *entries, rest = read_sources([path])
    assert (
        sorted((json.loads(entry.raw) for entry in entries), key=lambda each: int(each["metadata"]["uid"]))
        == items[:12]
    )
    assert isinstance(rest, Unreadable)
    assert rest.error_type == "cut_off"
    assert text[:cut].endswith(rest.raw.decode())


def test_bad_object_of_a_watch_is_reported_and_the_others_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "watch.json"
    deep = '{"kind": ' + "[" * 10_000 + "]" * 10_000 + "}"
    parts = [json.dumps(pod("a")), '{"kind": "Pod", "meta', deep, json.dumps(pod("b", "v")), '{"a": \x01}']
    path.write_text("\n".join(parts) + "\n")
    entries = list(read_sources([path]))
    reported = [(e.position.place, e.error_type) if isinstance(e, Unreadable) else e.position.place for e in entries]
    assert reported == ["line 1", "line 4", ("line 2", "cut_off"), ("line 3", "too_deep"), ("line 5", "not_json")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "holds no object that can be read; 1: "),
        ('{"a": 1', "holds no object that can be read"),
        ('{"a": 1}', "holds nothing that Leadsman reads, only JSON without a kind (1)"),
        (json.dumps({"apiVersion": "apps/v1", "kind": "Deployment"}), "only Deployment (1)"),
        ('{"kind": "List", "items": 5}', "of items"),
        ("apiVersion: v1\nkind: [", "holds no object that can be read"),
    ],
)
def test_file_without_anything_of_use_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        list(read_sources([path]))
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


@given(
    data=st.binary(max_size=300),
    start=st.sampled_from([b'{"kind":"List","items":[', b"kind: List\nitems:\n- ", b"{", b"---\n"]),
)
def test_arbitrary_bytes_raise_nothing_but_a_source_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, start: bytes
) -> None:
    path = tmp_path_factory.mktemp("any") / "dump"
    path.write_bytes(start + data)
    try:
        entries = list(read_sources([path], node="n"))
    except SourceError:
        return
    assert all(isinstance(entry, Observed | Unreadable) for entry in entries)


# --- the time of a dump


def test_time_is_the_newest_of_the_objects(tmp_path: Path) -> None:
    first = pod("a", creationTimestamp="2026-01-01T00:00:00Z", deletionTimestamp="2027-01-01T00:00:00Z")
    second = {**pod("b"), "status": {"conditions": [{"lastTransitionTime": "2026-01-01T00:00:07.25Z"}]}}
    note = pod("c", annotations={"note": '{"time":"2026-05-05T00:00:00Z"}', "time": "2026-01-01T00:00:03Z"})
    entries = observed(write(tmp_path / "pods.json", listed(first, second, note)))
    assert {entry.observation.ts for entry in entries} == {datetime(2026, 1, 1, 0, 0, 7, 250_000, tzinfo=UTC)}


def test_time_that_was_given_wins(tmp_path: Path) -> None:
    path = write(tmp_path / "pods.json", pod("a", creationTimestamp="2026-01-01T00:00:00Z"))
    assert observed(path, at=AT)[0].observation.ts == AT


def test_without_any_time_it_is_when_the_file_was_modified(tmp_path: Path) -> None:
    path = write(tmp_path / "pods.json", pod("a", creationTimestamp="2026-99-01T00:00:00Z"))
    os.utime(path, (AT.timestamp(), AT.timestamp()))
    assert observed(path)[0].observation.ts == AT


def test_each_version_has_its_own_time(tmp_path: Path) -> None:
    path = tmp_path / "watch.json"
    times = ["2026-01-01T00:00:05Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:09Z"]
    path.write_text("".join(json.dumps(pod("a", version=time, creationTimestamp=time)) + "\n" for time in times))
    assert [entry.observation.ts.second for entry in observed(path)] == [1, 5, 9]


# --- what a kubelet answers


def test_summary_reports_its_node_and_its_time(tmp_path: Path, recorded: dict[str, list[dict[str, Any]]]) -> None:
    summary = recorded["stats/summary"][0]
    entry = observed(write(tmp_path / "summary.json", summary))[0]
    observation = entry.observation
    assert (observation.resource, observation.source, observation.type) == ("stats/summary", "kubelet", "SNAPSHOT")
    assert observation.node == NODE
    assert json.loads(bytes(observation.object)) == summary
    # the newest time of the first sample in the capture, which was seen at 04:17:07
    assert (
        datetime(2026, 11, 21, 4, 16, 50, tzinfo=UTC) < observation.ts < datetime(2026, 11, 21, 4, 17, 8, tzinfo=UTC)
    )


@pytest.mark.parametrize("resource", ["configz", "cpu_manager_state"])
def test_node_of_another_answer_must_be_reported(
    tmp_path: Path, recorded: dict[str, list[dict[str, Any]]], resource: str
) -> None:
    path = write(tmp_path / f"{resource}.json", recorded[resource][0])
    with pytest.raises(SourceError, match="leadsman replay --node NODE"):
        list(read_sources([path]))
    entry = observed(path, node="n1")[0]
    assert (entry.observation.resource, entry.observation.node) == (resource, "n1")
    assert json.loads(bytes(entry.observation.object)) == recorded[resource][0]


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("n1.example.org.configz.json", "n1.example.org"),
        ("n1.configz", "n1"),
        ("nodes/n2/configz.json", "n2"),
        ("nodes/n2/n3.configz.json", "n3"),
    ],
)
def test_node_is_recognised_by_the_name_of_the_file_or_of_its_folder(tmp_path: Path, name: str, node: str) -> None:
    path = write(tmp_path / name, {"kubeletconfig": {}})
    assert observed(path)[0].observation.node == node
    # what a person says of one file is meant
    assert observed(path, node="other")[0].observation.node == "other"


@pytest.mark.parametrize("name", ["stats.summary.json", "stats-summary.json", "configz.json", "kubelet-configz.json"])
def test_no_node_is_made_up_from_a_name_that_has_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match="--node"):
        list(read_sources([write(tmp_path / name, {"kubeletconfig": {}})]))


def test_checkpoint_files_are_distinguished(tmp_path: Path) -> None:
    cpu = {"policyName": "static", "defaultCpuSet": "0-3", "checksum": 1}
    memory = {"policyName": "None", "machineState": {}, "entries": {}, "checksum": 2}
    topology = {"cpus": [{"cpu": 0, "core": 0, "socket": 0, "numa": 0}]}
    paths = [
        write(tmp_path / name, value, indent=None) for name, value in (("c", cpu), ("m", memory), ("t", topology))
    ]
    entries = observed(paths, node="n", at=AT)
    assert [entry.observation.resource for entry in entries] == [
        "cpu_topology",
        "cpu_manager_state",
        "memory_manager_state",
    ]
    assert [entry.observation.source for entry in entries] == ["agent", "kubelet", "kubelet"]


def test_metrics_text_is_kept_as_text(tmp_path: Path, recorded: dict[str, list[dict[str, Any]]]) -> None:
    text = "# HELP x y\n# TYPE x counter\n" + recorded["metrics"][0]["text"] + "\n"
    for name, content in (("a", text), ("b", recorded["metrics"][0]["text"] + "\n")):
        path = tmp_path / f"{name}.metrics.txt"
        path.write_text(content)
        entry = observed(path)[0].observation
        assert (entry.resource, entry.node, json.loads(bytes(entry.object))) == ("metrics", name, {"text": content})


# --- folders


@pytest.fixture
def cluster_info_dump(tmp_path: Path, recorded: dict[str, list[dict[str, Any]]]) -> Path:
    """A folder of `kubectl cluster-info dump --output-directory`: typed lists whose items have no kind."""
    folder = tmp_path / "dump"

    def bare(resource: str) -> list[dict[str, Any]]:
        return [{key: item[key] for key in item if key not in {"kind", "apiVersion"}} for item in recorded[resource]]

    write(folder / "nodes.json", listed(*bare("nodes"), kind="NodeList"))
    write(folder / "default" / "pods.json", listed(*bare("pods"), kind="PodList"))
    write(folder / "default" / "events.json", listed(*bare("events"), kind="EventList"))
    write(folder / "default" / "deployments.json", listed({"metadata": {"name": "d"}}, kind="DeploymentList"))
    write(folder / "kube-system" / "pods.json", listed(kind="PodList"))
    log = folder / "default" / "best" / "logs.txt"
    log.parent.mkdir()
    log.write_text('==== START logs ====\n{"kind": "Pod"}\n')
    return folder


def test_cluster_info_dump_is_read(cluster_info_dump: Path, recorded: dict[str, list[dict[str, Any]]]) -> None:
    skipped: Counter[str] = Counter()
    entries = observed(cluster_info_dump, skipped=skipped)
    assert resources(entries) == {"nodes": 1, "pods": 3, "events": 37}
    assert skipped == {"Deployment": 1}
    assert sorted(event["metadata"]["name"] for event in objects(entries, "events")) == sorted(
        event["metadata"]["name"] for event in recorded["events"]
    )


def test_events_of_a_folder_have_their_own_times_and_its_objects_that_of_the_reading(cluster_info_dump: Path) -> None:
    entries = observed(cluster_info_dump)
    # the list was recorded at 04:17:07; the node's last heartbeat before it is the newest that its objects tell
    (read_at,) = {entry.observation.ts for entry in entries if entry.observation.resource != "events"}
    assert datetime(2026, 11, 21, 4, 11, tzinfo=UTC) < read_at <= datetime(2026, 11, 21, 4, 17, 8, tzinfo=UTC)
    events = [entry for entry in entries if entry.observation.resource == "events"]
    reported = [json.loads(entry.raw) for entry in events]
    own = [datetime.fromisoformat(each["lastTimestamp"] or each["eventTime"]) for each in reported]
    assert [entry.observation.ts for entry in events] == own == sorted(own)
    assert own[0] < read_at


def test_kubelet_answers_in_a_folder_belong_to_the_nodes_of_their_names(
    cluster_info_dump: Path, recorded: dict[str, list[dict[str, Any]]]
) -> None:
    write(cluster_info_dump / "n7.configz.json", recorded["configz"][0])
    write(cluster_info_dump / "nodes" / "n8" / "configz.json", recorded["configz"][0])
    write(cluster_info_dump / "x.stats-summary.json", recorded["stats/summary"][0])
    write(cluster_info_dump / "cpu_manager_state", recorded["cpu_manager_state"][0], indent=None)
    entries = observed(cluster_info_dump, node="rest")
    by_node = {(entry.observation.resource, entry.observation.node) for entry in entries if entry.observation.node}
    assert by_node == {
        ("configz", "n7"),
        ("configz", "n8"),
        ("stats/summary", NODE),
        ("cpu_manager_state", "rest"),
    }


def to_yaml(value: Any) -> str:
    return "---\n" + yaml.safe_dump(value, default_flow_style=False, allow_unicode=True)


@pytest.fixture
def must_gather(tmp_path: Path, recorded: dict[str, list[dict[str, Any]]]) -> Path:
    """An OpenShift must-gather: a folder of the image, and in it YAML."""
    folder = tmp_path / "must-gather.local.1" / "quay-io-sha256-abc"
    core = folder / "namespaces" / "default" / "core"
    nodes = folder / "cluster-scoped-resources" / "core" / "nodes"
    namespaces = nodes.with_name("namespaces")
    core.mkdir(parents=True)
    nodes.mkdir(parents=True)
    namespaces.mkdir()
    node = {"apiVersion": "v1", "kind": "Node", **recorded["nodes"][0]}
    (nodes / f"{NODE}.yaml").write_text(to_yaml(node))
    default = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"team": "a"}}}
    (namespaces / "default.yaml").write_text(to_yaml(default))
    (core / "pods.yaml").write_text(to_yaml(listed(*recorded["pods"], kind="PodList")))
    (core / "events.yaml").write_text(to_yaml(listed(*recorded["events"], kind="EventList")))
    (core / "secrets.yaml").write_text(to_yaml(listed({"data": {"key": "hush"}}, kind="SecretList")))
    for each in recorded["pods"]:
        own = folder / "namespaces" / "default" / "pods" / each["metadata"]["name"]
        own.mkdir(parents=True)
        (own / f"{each['metadata']['name']}.yaml").write_text(to_yaml({"apiVersion": "v1", "kind": "Pod", **each}))
    return folder.parent


def test_must_gather_is_read_each_object_once(must_gather: Path, recorded: dict[str, list[dict[str, Any]]]) -> None:
    entries = observed(must_gather)
    assert resources(entries) == {"nodes": 1, "pods": 3, "events": 37, "namespaces": 1}
    assert {entry.observation.type for entry in entries} == {"ADDED"}
    assert objects(entries, "pods") == recorded["pods"]
    assert sorted(objects(entries, "events"), key=_name) == sorted(recorded["events"], key=_name)
    assert not any(b"hush" in entry.raw for entry in entries)
    assert len({entry.observation.ts for entry in entries if entry.observation.resource != "events"}) == 1


def test_yaml_gives_what_the_same_json_gives(tmp_path: Path, recorded: dict[str, list[dict[str, Any]]]) -> None:
    pods = [{**each, "apiVersion": "v1", "kind": "Pod"} for each in recorded["pods"]]
    as_json = observed(write(tmp_path / "pods.json", listed(*pods)))
    path = tmp_path / "pods.yaml"
    path.write_text(to_yaml(listed(*pods)))
    as_yaml = observed(path)
    assert objects(as_yaml, "pods") == objects(as_json, "pods")
    assert [entry.observation.ts for entry in as_yaml] == [entry.observation.ts for entry in as_json]


def test_times_and_words_in_yaml_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  creationTimestamp: 2026-01-01T00:00:00Z\n"
        "  labels: {<<: x, 'on': 'true', n: 5}\n"
    )
    metadata = objects(observed(path), "pods")[0]["metadata"]
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert metadata["labels"]["<<"] == "x"
    assert metadata["labels"]["n"] == 5


def test_yaml_of_several_documents_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    text = pod("b", "v", annotations={"text": "one\n--- not a document\n- nor an item\n"})
    path.write_text(to_yaml(pod("a")) + to_yaml(text) + "---\n" + to_yaml(listed(pod("c", "w"), text)))
    assert objects(observed(path), "pods") == [pod("a"), text, pod("c", "w")]


ALIASES = "a: &a [x, x, x]\n" + "".join(
    f"{name}: &{name} [*{before}, *{before}, *{before}, *{before}, *{before}, *{before}, *{before}, *{before}]\n"
    for before, name in zip("abcdefghijk", "bcdefghijkl", strict=True)
)

JSON_ALIASES = (
    'a: {"a":&a ["x"],'
    + ",".join(
        f'"{name}":&{name} [' + ",".join([f'"k":*{before}'] * 9) + "]"
        for before, name in zip("abcd", "bcde", strict=True)
    )
    + "}\n"
)
"""A key in quotes needs no space before its value. Each line has nine times the values of the one before."""


@pytest.mark.parametrize(
    ("error_type", "text"),
    [
        ("bomb", ALIASES),
        ("bomb", "a: &a\n  b: *a\n"),
        ("bomb", JSON_ALIASES),
        ("bomb", 'a: {"x":&x "y","z":*x}\n'),
        ("bomb", 'a: {"x":&x "y",*x :1}\n'),
        ("bomb", 'a: &x ["y",[*x]]\n'),
        ("bomb", "a: &x {y: z}\nb:\n  <<: *x\n"),
        ("bomb", "a: &x y\nb:\t*x\n"),
        ("too_deep", "a: " + "[" * 100_000 + "]" * 100_000 + "\n"),
        ("too_deep", "a:\n" + "- " * 100_000 + "x\n"),
        ("too_deep", "".join(" " * depth + "a:\n" for depth in range(2_000))),
        ("not_yaml", "a: !!python/object/apply:os.system [id]\n"),
        ("not_yaml", "a: b: c\n"),
        ("not_yaml", "a: 'x\n"),
        ("not_yaml", "a: \x01\n"),
        ("not_yaml", "? [x, y]\n: z\n"),
    ],
)
def test_dangerous_or_broken_yaml_is_reported_and_the_rest_kept(tmp_path: Path, error_type: str, text: str) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text(f"---\n{yaml.safe_dump(pod('a'))}---\nkind: Pod\n{text}---\n{yaml.safe_dump(pod('b', 'v'))}")
    entries = list(read_sources([path]))
    assert [json.loads(e.raw)["metadata"]["name"] for e in entries if isinstance(e, Observed)] == ["a", "b"]
    assert [e.error_type for e in entries if isinstance(e, Unreadable)] == [error_type]


def test_a_tab_that_indents_yaml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text(f"{yaml.safe_dump(pod('a'))}---\nkind: Pod\nmetadata:\n \tname: b\n")
    (broken,) = [e for e in read_sources([path]) if isinstance(e, Unreadable)]
    assert "a tab indents, where YAML allows only spaces, in line 4 of it" in broken.reason


def test_bad_item_of_a_yaml_list_is_reported_and_the_others_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text(
        to_yaml(listed(pod("a"), pod("b", "v"), pod("c", "w"), kind="PodList")).replace("name: b", "name: 'b")
    )
    entries = list(read_sources([path]))
    reported = [e.error_type if isinstance(e, Unreadable) else json.loads(e.raw)["metadata"]["name"] for e in entries]
    assert reported == ["a", "c", "not_yaml"]


def test_text_with_an_asterisk_is_no_alias(tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    starred = pod("a", annotations={"text": "every *star counts\n*here too\n" * 3})
    path.write_text(to_yaml(starred))
    assert objects(observed(path), "pods") == [starred]


def test_captures_and_dumps_are_merged_by_time(tmp_path: Path) -> None:
    path = write(tmp_path / "pod.json", pod("mine"))
    entries = observed([path, NODE_PRESSURE], at=datetime(2026, 11, 21, 4, 20, tzinfo=UTC))
    times = [entry.observation.ts for entry in entries]
    assert times == sorted(times)
    assert len(entries) == 976
    assert 0 < next(i for i, entry in enumerate(entries) if entry.position.source == str(path)) < 975


LOG = """I1123 10:00:00.000001       1 eventhandlers.go:1] "Add event for scheduled pod" pod="ns/p"
I1123 10:03:00.000001       1 comparer.go:71] "Cache mismatch" missedNodes=["b"] redundantNodes=[]
I1123 10:03:00.000002       1 dumper.go:53] "Dump of cached NodeInfo" nodes=<
\tNode name: a
\tDeleted: false
\tScheduled Pods(number: 1):
\tname: p, namespace: ns, uid: 1, phase: Running, nominated node:
 >
"""


@pytest.mark.parametrize("before", ["", "2026-11-23T10:00:00.1Z stderr F "])
def test_of_a_schedulers_log_only_its_cache_is_taken(tmp_path: Path, before: str) -> None:
    file = tmp_path / "scheduler.log"
    file.write_text("".join(f"{before}{line}\n" for line in LOG.splitlines()))
    for path in (file, tmp_path):
        (one,) = observed(path, at=AT)
        assert (one.observation.resource, one.observation.node) == ("scheduler_cache", "")
        text = json.loads(bytes(one.observation.object))["text"]
        assert "Node name: a" in text
        assert "Deleted: false" in text
        assert "missedNodes" in text
        assert "ns/p" not in text


def test_a_log_without_a_dump_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.log"
    file.write_text(LOG.splitlines()[0])
    with pytest.raises(SourceError):
        observed(file)


def test_metrics_of_a_scheduler_need_no_node(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.metrics.txt"
    file.write_text('# TYPE scheduler_cache_size gauge\nscheduler_cache_size{type="nodes"} 3\n')
    (one,) = observed(file, at=AT)
    assert one.observation.resource == "scheduler_cache"


def lease(name: Any, namespace: str, **kind: Any) -> dict[str, Any]:
    return {
        **kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"renewTime": "2026-11-23T10:00:00.5Z"},
    }


@pytest.mark.parametrize(("head", "kind"), [("List", "Lease"), ("LeaseList", "")])
def test_of_leases_only_those_of_nodes_are_taken(tmp_path: Path, head: str, kind: str) -> None:
    own: dict[str, Any] = {"kind": kind, "apiVersion": "coordination.k8s.io/v1"} if kind else {}
    items = [
        lease("kube-scheduler", "kube-system", **own),
        lease("n1", "kube-node-lease", **own),
        lease(["n2"], "kube-node-lease", **own),
        {**own, "metadata": None},
        own or {"spec": {}},
    ]
    file = tmp_path / "leases.json"
    file.write_text(json.dumps({"kind": head, "apiVersion": "coordination.k8s.io/v1", "items": items}))
    (one,) = observed(file)
    assert one.observation.resource == "node_leases"
    assert json.loads(bytes(one.observation.object))["metadata"]["name"] == "n1"
    assert one.observation.ts == datetime(2026, 11, 23, 10, 0, 0, 500_000, UTC), "by the newest renewal"
