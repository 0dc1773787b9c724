"""Public reports as the dumps that their authors had: every fact of each, and in whatever order they are read."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from field.folding import Stored, shown
from ingest.files.envelope import encode_line
from ingest.files.lines import SourceError
from ingest.files.sources import read_sources
from ingest.files.yaml_documents import yaml_parts
from ingest.model.observation import Observed
from ingest.resources.table import TABLE
from paths import EXAMPLES, TESTS
from streams.fold.findings import HIGH_RATE

CASES = sorted(path.parent for path in (TESTS / "field/cases").glob("*/facts.json"))
Rows: TypeAlias = dict[str, list[str]]
"""Rows in text, by table."""
_KEPT = HIGH_RATE | {"dead_letters"}
"""Tables whose rows no later pass takes back."""


def case(folder: Path) -> tuple[list[Path], list[dict[str, Any]]]:
    reported = json.loads((folder / "facts.json").read_text())
    if reported["input"] == ".":
        return sorted(each for each in folder.iterdir() if each.name != "facts.json"), reported["facts"]
    return [folder / reported["input"]], reported["facts"]


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_a_public_report_is_answered_right(folder: Path) -> None:
    paths, facts = case(folder)
    holds(facts, *paths)


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_the_first_lists_of_a_live_cluster_are_answered_as_its_dump_is(folder: Path, tmp_path: Path) -> None:
    """All lists have one time then, that of reading, and come in the order of the table of resources. What a dump
    lacks (`dump_only`) is no matter there.
    """
    paths, facts = case(folder)
    seen = [entry.observation for entry in read_sources(paths) if isinstance(entry, Observed)]
    read_at = max(each.ts for each in seen)
    order = [resource.name for resource in TABLE]
    listed = [msgspec.structs.replace(each, ts=read_at) if each.source == "list" else each for each in seen]
    lines = [encode_line(each) for each in sorted(listed, key=lambda each: order.index(each.resource))]
    (tmp_path / "live.jsonl").write_bytes(b"".join(lines))
    holds([each for each in facts if not each.get("dump_only")], tmp_path / "live.jsonl")


@cache
def read(*paths: Path) -> Stored:
    stored = Stored()
    stored.replay(*paths)
    return stored


def holds(facts: list[dict[str, Any]], *paths: Path) -> None:
    stored = read(*paths)
    for fact in facts:
        found = stored.of(fact["table"], fact["where"])
        if "count" in fact:
            assert len(found) == fact["count"], fact
        wanted = fact.get("is", {})
        assert not wanted or found, fact
        for row in found:
            assert shown(row, wanted) == wanted, fact.get("why", fact["table"])


class Piece(NamedTuple):
    """One thing of a dump, which nothing keeps together with the others."""

    file: str
    """The name of a kubelet's answer, which has its node; empty for an object of the API."""
    content: dict[str, Any]


def pieces(paths: list[Path]) -> list[Piece]:
    """All that is in some dumps, and in captures, of which each line is a thing as it was found."""
    files = [each for path in paths for each in (sorted(path.rglob("*.*")) if path.is_dir() else [path])]
    return [piece for file in files if file.suffix in {".json", ".jsonl", ".yaml"} for piece in pieces_of(file)]


def pieces_of(file: Path) -> Iterator[Piece]:
    if file.suffix == ".yaml":
        yield from (Piece("", json.loads(part.raw)) for part in yaml_parts(file.read_bytes()))
        return
    for whole in map(json.loads, file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]):
        if file.suffix == ".jsonl":
            kind = {"nodes": "Node", "pods": "Pod", "events": "Event"}.get(whole["resource"])
            named = "" if kind else f"{whole['node']}.{whole['resource'].replace('/', '-')}.json"
            yield Piece(named, whole["object"] | ({"kind": kind} if kind else {}))
        elif "items" in whole:
            of_list = {"kind": whole["kind"].removesuffix("List"), "apiVersion": whole["apiVersion"]}
            yield from (Piece("", of_list | each) for each in whole["items"])
        else:
            yield Piece("" if "kind" in whole else file.name, whole)


SOURCES = {folder.name: found for folder in CASES if (found := pieces(case(folder)[0]))} | {
    "troubled-cluster": pieces([EXAMPLES / "troubled-cluster.json"])
}


@cache
def read_whole(name: str) -> Rows:
    """Return the rows of a dump that is read at once."""
    stored = Stored()
    with TemporaryDirectory() as folder:
        stored.replay(written(Path(folder) / "dump", SOURCES[name]))
    return stored.comparable()


@pytest.mark.parametrize("name", SOURCES)
@settings(max_examples=3, deadline=None)
@given(st.data())
def test_neither_order_nor_files_nor_passes_change_what_a_dump_implies(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    found = SOURCES[name]
    folder = tmp_path_factory.mktemp("dump")
    order = data.draw(st.permutations(range(len(found))))
    files = data.draw(st.integers(1, 3))
    shares = [[found[i] for i in order[n::files]] for n in range(files)]
    parts = [written(folder / f"{n}", share) for n, share in enumerate(shares) if share]
    split = Stored()
    split.replay(*data.draw(st.permutations(parts)))
    assert split.comparable() == read_whole(name)


OF_PARTS = "settings of kubelets that are not in the dump", "holds nothing that Leadsman reads"
"""Errors of a part that has only what means nothing by itself."""


@pytest.mark.parametrize("name", SOURCES)
@settings(max_examples=2, deadline=None)
@given(st.data())
def test_looks_at_parts_before_leave_no_row_that_the_whole_does_not_imply(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    """Tables that keep when something was first seen are among them, and alerts."""
    found, folder = SOURCES[name], tmp_path_factory.mktemp("dump")
    often = Stored()
    for number in range(2):
        if some := [each for each in found if data.draw(st.booleans())]:
            try:
                often.replay(written(folder / f"{number}", some))
            except SourceError as error:
                assert any(text in str(error) for text in OF_PARTS)  # noqa: PT017 - of some parts only
    often.replay(written(folder / "whole", found))
    assert implied(often.comparable()) == implied(read_whole(name))


def files(folder: Path) -> list[Path]:
    return sorted(file for path in case(folder)[0] for file in ([path] if path.is_file() else path.rglob("*.*")))


WITH_TEXTS = [
    each for each in CASES if len(files(each)) > 1 and any(file.suffix in {".txt", ".log"} for file in files(each))
]


@pytest.mark.parametrize("folder", WITH_TEXTS, ids=lambda folder: folder.name)
def test_files_read_alone_before_leave_no_row_that_all_do_not_imply(folder: Path) -> None:
    """A log or a table is read by itself with other times, nodes and UIDs than beside the objects."""
    paths, _ = case(folder)
    often = Stored()
    for file in files(folder):
        with suppress(SourceError):
            often.replay(file)
    often.replay(*paths)
    assert implied(often.comparable()) == implied(read(*paths).comparable())


PRINTED = """$ kubectl get pods -A
NAMESPACE   NAME    READY   STATUS    RESTARTS   AGE
shop        web-0   0/1     Evicted   0          3h
shop        web-1   0/1     Evicted   0          3h
"""


@pytest.mark.parametrize(
    "order", list(permutations(("kubelet-journal.txt", "objects.json", "table.txt"))), ids=" ".join
)
def test_an_eviction_is_one_row_whichever_pass_reads_its_pod_a_log_or_a_table(
    tmp_path: Path, order: Sequence[str]
) -> None:
    """The log has no UID of web-0 and web-1, no year, and the node without its domain, and the table has no node;
    cache-0 is in the log alone.
    """
    stored = Stored()
    (table := tmp_path / "table.txt").write_text(PRINTED)
    for name in order:
        stored.replay(table if name == table.name else TESTS / "field/cases/61-told-by-the-kubelets-log" / name)
    for of in ("evictions", "pod_ends"):
        found = sorted((row["pod"], row["node"]) for row in stored.of(of, {}))
        assert found == [("cache-0", "worker-7"), ("web-0", "worker-7.lab"), ("web-1", "worker-7.lab")]


def implied(rows: Rows) -> Rows:
    return {table: of_table for table, of_table in rows.items() if of_table and table not in _KEPT}


MESSAGE = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. "
ABOVE_LIMIT = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "


@pytest.mark.parametrize("passes", ["pod all", "event all", "all", "pod event all", "pod event"])
def test_an_eviction_that_its_pod_dates_a_second_before_its_event_is_one_row(tmp_path: Path, passes: str) -> None:
    """The kubelet sets the condition, and writes its Event when the second has changed (rules: how-pods-end)."""
    about = {"name": "web-0", "namespace": "shop", "uid": "u1"}
    target = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": MESSAGE}
    status = {"phase": "Failed", "conditions": [target | {"lastTransitionTime": "2026-07-31T14:40:00Z"}]}
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": about, "spec": {"nodeName": "n1"}, "status": status}
    event = {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": "web-0.1", "namespace": "shop", "uid": "e1"},
        "involvedObject": about | {"kind": "Pod"},
        "reason": "Evicted",
        "message": MESSAGE,
        "source": {"component": "kubelet", "host": "n1"},
        "lastTimestamp": "2026-07-31T14:40:01Z",
    }
    things = {"pod": [Piece("", pod)], "event": [Piece("", event)], "all": [Piece("", pod), Piece("", event)]}
    stored = Stored()
    for number, each in enumerate(passes.split()):
        stored.replay(written(tmp_path / f"{number}", things[each]))
    (row,) = stored.of("evictions", {"pod": "web-0"})
    assert row["time_known"]
    assert row["evidence"] == "both" or passes == "pod event"


BY_KUBELET = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}


@pytest.mark.parametrize(
    ("said", "cause", "end"),
    [
        ({"reason": "Evicted", "message": MESSAGE}, "pressure", "node_pressure"),
        ({"reason": "Evicted", "message": ABOVE_LIMIT}, "limit", "own_limit"),
        ({"phase": "Succeeded", "conditions": [BY_KUBELET | {"message": MESSAGE}]}, "pressure", "node_pressure"),
        ({"phase": "Running"}, "unknown", "kubelet_eviction"),
    ],
    ids=["pressure", "limit", "pressure of a pod that exits with 0", "nothing"],
)
def test_a_line_that_lacks_why_a_pod_was_evicted_has_it_from_the_pod(
    tmp_path: Path, said: dict[str, Any], cause: str, end: str
) -> None:
    """Regression: such a line alone was an eviction for a resource, and the pod's status another one."""
    line = 'I0731 14:40:00.514212 1 eviction_manager.go:612] "Eviction manager: pod is evicted successfully"'
    metadata = {"name": "web-0", "namespace": "shop", "uid": "u1", "creationTimestamp": "2026-07-31T14:00:00Z"}
    status = {"phase": "Failed", "startTime": "2026-07-31T14:00:00Z", **said}
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"nodeName": "n1"}, "status": status}
    (tmp_path / "n1.kubelet.log").write_text(f'{line} pod="shop/web-0"\n')
    later = {
        **pod,
        "metadata": {"name": "later", "uid": "u2", "creationTimestamp": "2026-07-31T15:00:00Z"},
        "status": {},
    }
    (tmp_path / "pods.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [pod, later]}))
    stored = Stored()
    stored.replay(tmp_path)
    assert [row["cause"] for row in stored.of("evictions", {})] == [cause]
    assert [row["cause"] for row in stored.of("pod_ends", {})] == [end]


@pytest.mark.parametrize("passes", ["pods events", "events pods", "pods events all"])
@pytest.mark.parametrize("name", ["76-completed-and-then-refused", "80-limit-that-looks-like-success"])
def test_pods_and_events_alone_show_who_ended_a_pod_and_when(tmp_path: Path, name: str, passes: str) -> None:
    """Names and times of the responsible component stay: neither pass has the other's witness."""
    found = SOURCES[name]
    if name.startswith("76"):
        found = [*found, Piece("", REFUSED)]
    events = [each for each in found if each.content.get("kind") == "Event"]
    things = {"events": events, "pods": [each for each in found if each not in events], "all": found}
    once, often = Stored(), Stored()
    once.replay(written(tmp_path / "once", found))
    for number, each in enumerate(passes.split()):
        often.replay(written(tmp_path / f"{number}", things[each]))
    columns = ("pod", "ts", "cause", "actor", "time_known")
    reported = [
        sorted(tuple(row[name] for name in columns) for row in each.of("pod_ends", {})) for each in (once, often)
    ]
    assert reported[0] == reported[1]


REFUSED = {
    "kind": "Event",
    "apiVersion": "v1",
    "metadata": {"name": "job-9s7jw.1", "namespace": "default", "uid": "e1"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "job-9s7jw", "uid": "u-job-9s7jw"},
    "reason": "UnexpectedAdmissionError",
    "message": "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu."
    " Requested: 1, Available: 0, which is unexpected",
    "source": {"component": "kubelet", "host": "gpu-1"},
    "lastTimestamp": "2023-05-12T10:05:01Z",
}


def written(folder: Path, found: Sequence[Piece]) -> Path:
    """A folder with the objects of the API in one file, and with what kubelets answered."""
    folder.mkdir()
    if objects := [json.dumps(each.content) for each in found if not each.file]:
        (folder / "objects.json").write_text("\n".join(objects))
    for number, each in enumerate(found):
        if each.file:
            (folder / f"{number}").mkdir()
            (folder / f"{number}" / each.file).write_text(json.dumps(each.content))
    return folder
