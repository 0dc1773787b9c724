"""Folders that others packed: support bundles, and files of a folder that cannot be used."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest.files.lines import SourceError
from ingest.files.sources import read_sources
from ingest.model.observation import Observed, Unreadable

CONFIGZ = {"kubeletconfig": {"evictionHard": {"memory.available": "100Mi"}}}


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2))
    return path


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1"}, **more}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """The first format of troubleshoot.sh: arrays, whose objects do not name their kind."""
    folder = tmp_path / "support-bundle-2026-11-21T04_11_00"
    resources = folder / "cluster-resources"
    write(resources / "nodes.json", [named("n1"), named("n2")])
    write(resources / "nodes-errors.json", [])
    write(resources / "pods" / "default.json", [named("a")])
    write(resources / "pods" / "kube-system.json", [named("b"), named("c")])
    write(resources / "pods-errors.json", {"secret-ns": "pods is forbidden"})
    write(resources / "events" / "default.json", [named("e", reason="Evicted")])
    write(resources / "deployments" / "default.json", [named("d")])
    write(resources / "namespaces-errors.json", ["forbidden"])
    write(folder / "version.yaml", {"apiVersion": "troubleshoot.sh/v1beta2"})
    return folder


def read(*paths: Path, **options: Any) -> tuple[Counter[str], list[Unreadable], str]:
    """Return the number of each resource, the unreadable parts, and the refused ones."""
    entries: list[Observed | Unreadable] = []
    refused = ""
    try:
        for entry in read_sources(paths, **options):
            entries.append(entry)  # noqa: PERF402 - what came before the error counts
    except SourceError as error:
        refused = str(error)
    found = Counter(entry.observation.resource for entry in entries if isinstance(entry, Observed))
    return found, [entry for entry in entries if isinstance(entry, Unreadable)], refused


def test_a_support_bundle_of_arrays_is_read(bundle: Path) -> None:
    assert read(bundle) == ({"nodes": 2, "pods": 3, "events": 1}, [], "")


def test_a_support_bundle_of_typed_lists_is_read(bundle: Path) -> None:
    listed = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [named("x")]}
    write(bundle / "cluster-resources" / "pods" / "default.json", listed)
    assert read(bundle)[0]["pods"] == 3


def test_an_array_that_is_cut_off_gives_its_complete_objects(bundle: Path) -> None:
    file = bundle / "cluster-resources" / "pods" / "kube-system.json"
    text = file.read_text()
    file.write_text(text[: text.index('"c"')])
    found, unreadable, _ = read(bundle)
    assert found["pods"] == 2
    assert [(each.position.source, each.error_type) for each in unreadable] == [(str(file), "cut_off")]


def test_a_file_that_cannot_be_placed_is_named_and_the_others_are_read(bundle: Path) -> None:
    lost = write(bundle / "kubelet" / "configz.json", CONFIGZ)
    found, _, refused = read(bundle)
    assert found == {"nodes": 2, "pods": 3, "events": 1}
    assert refused.startswith(f"{lost}: the node of this configz is unknown; name the file NODE.configz.json")
    assert read(bundle, node="n1")[0]["configz"] == 1


def test_each_file_that_cannot_be_used_is_named(bundle: Path) -> None:
    for number in range(7):
        write(bundle / f"{number}" / "configz.json", CONFIGZ)
    found, _, refused = read(bundle)
    assert found["pods"] == 3
    assert refused.count("is unknown") == 5
    assert refused.endswith("and 2 more files")


def listed(kind: str, *items: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "List",
        "apiVersion": "v1",
        "items": [{"kind": kind, "apiVersion": "v1", **item} for item in items],
    }


@pytest.fixture
def sosreport(tmp_path: Path) -> Path:
    """A folder of the plugin `kubernetes` of sos 4.8, with its names of outputs and unrelated files."""
    folder = tmp_path / "sosreport-control-1-2026-11-21-abcdefg"
    info = folder / "sos_commands/kubernetes/cluster-info"
    kubectl = "kubectl_--kubeconfig_.etc.kubernetes.admin.conf_get"
    write(info / f"{kubectl}_-o_json_nodes", listed("Node", named("n1")))
    (info / f"{kubectl}_nodes").write_text("NAME STATUS\nn1 Ready\n")
    (info / f"{kubectl}_--raw_.metrics").write_text("# HELP up API server\nup 1\n")
    (info / f"{kubectl}_pv").write_text("No resources found\n")
    journal = folder / "sos_commands/kubernetes/journalctl_--no-pager_--unit_kubelet"
    journal.write_text("Nov 21 04:11:12 n1 kubelet[1]: Starting\n")
    return folder


def test_a_sosreport_with_all_namespaces_is_read(sosreport: Path) -> None:
    shop = sosreport / "sos_commands/kubernetes/cluster-info/shop"
    write(shop / "kubectl_get_-o_json_--namespace_shop_pods", listed("Pod", named("a"), named("b")))
    write(shop / "kubectl_get_-o_json_--namespace_shop_events", listed("Event", named("e", reason="Evicted")))
    write(shop / "kubectl_get_-o_json_--namespace_shop_secrets", listed("Secret", named("s")))
    skipped = Counter[str]()
    assert read(sosreport, skipped=skipped) == ({"nodes": 1, "pods": 2, "events": 1}, [], "")
    assert not skipped


def test_tables_of_a_sosreport_are_named_with_the_option_that_gives_objects(sosreport: Path) -> None:
    table = sosreport / "sos_commands/kubernetes/cluster-info/kubectl_get_--all-namespaces_true_pods"
    table.write_text("NAMESPACE NAME\nshop web\n")
    found, _, refused = read(sosreport)
    assert found == {"nodes": 1}
    assert refused == f"{table}: a table without objects; sos needs -k kubernetes.all=on"


def test_pods_and_events_of_a_sosreport_of_openshift_are_read(tmp_path: Path) -> None:
    of_namespace = tmp_path / "sos_commands/openshift/namespaces/kube-system"
    for kind, file in (
        ("Pod", "pods/etcd-0.yaml"),
        ("Event", "events/etcd-0.17c.yaml"),
        ("Secret", "secrets/s.yaml"),
    ):
        (of_namespace / file).parent.mkdir(parents=True)
        (of_namespace / file).write_text(yaml.safe_dump({"apiVersion": "v1", "kind": kind, **named(file)}))
    assert read(tmp_path)[0] == {"pods": 1, "events": 1}
