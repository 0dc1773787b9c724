"""Folders that others packed: support bundles, and files of a folder that cannot be used."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

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
    """As troubleshoot.sh wrote it first: arrays, whose objects do not name their kind."""
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
    """How many of each resource, what was unreadable, and what was refused."""
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
    assert refused.startswith(f"{lost}: the node of this configz is unknown; pass --node NAME")
    assert read(bundle, node="n1")[0]["configz"] == 1


def test_each_file_that_cannot_be_used_is_named(bundle: Path) -> None:
    for number in range(7):
        write(bundle / f"{number}" / "configz.json", CONFIGZ)
    found, _, refused = read(bundle)
    assert found["pods"] == 3
    assert refused.count("is unknown") == 5
    assert refused.endswith("and 2 more files")
