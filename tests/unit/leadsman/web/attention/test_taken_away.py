"""Whatever kind of evidence is taken away, a reader of look, page and report is told that it is missing."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from rich.console import Console

from components.alone import each_alone
from components.database import EmptyDatabase
from components.reading import page
from ingest.files.sources import Entry, read_sources
from ingest.normalize.decode import decode
from leadsman.cli.present.story import print_story
from leadsman.run.replay import replay
from leadsman.run.settings import Settings
from leadsman.web.reading.overview import read_spans
from leadsman.web.reading.scope import RequestedRange
from sql.database.open import Database

pytestmark = pytest.mark.engine

GIB: Final = 1 << 30
T0: Final = datetime(2026, 7, 1, 12, tzinfo=UTC)
NODE: Final = "n1"


def at(minutes: float) -> str:
    return (T0 + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _condition(kind: str, status: str, minutes: float, **words: str) -> dict[str, str]:
    return {"type": kind, "status": status, "lastTransitionTime": at(minutes), **words}


def _meta(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "namespace": "shop", "uid": f"uid-{name}", "creationTimestamp": at(-60), **more}


def _pod(name: str, status: Mapping[str, Any], node: str = NODE) -> dict[str, Any]:
    container = {"name": "app", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
    spec = {"containers": [container], **({"nodeName": node} if node else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _meta(name), "spec": spec, "status": status}


def _event(reason: str, kind: str, name: str, minutes: float, message: str) -> dict[str, Any]:
    about = {"kind": kind, "name": name, **({"namespace": "shop", "uid": f"uid-{name}"} if kind == "Pod" else {})}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "type": "Warning",
        "metadata": {"name": f"{name}.{reason}", "namespace": "shop"},
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "source": {"component": "kubelet", "host": NODE},
        "lastTimestamp": at(minutes),
        "firstTimestamp": at(minutes),
        "count": 1,
    }


def _node(conditions: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    room = {"cpu": "4", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    status = {
        "capacity": room,
        "allocatable": room,
        "conditions": conditions,
        "nodeInfo": {"kubeletVersion": "v1.33.2"},
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "uid": NODE}, "status": status}


WELL: Final = [
    _condition("Ready", "True", -60),
    *(_condition(f"{each}Pressure", "False", -60) for each in ("Memory", "Disk", "PID")),
]
SHORT: Final = [*WELL[:1], _condition("MemoryPressure", "True", 0), *WELL[2:]]
RUNNING: Final = {"phase": "Running", "startTime": at(-59)}
NOTHING_FREED: Final = (
    "Failed to garbage collect required amount of images. Attempted to free 900 bytes, "
    "but only found 0 bytes eligible to free."
)
LOW: Final = "The node was low on resource: memory. Threshold quantity: 1Gi, available: 900Mi. "


def _summary(available: int) -> dict[str, Any]:
    memory = {
        "time": at(5),
        "availableBytes": available,
        "workingSetBytes": 16 * GIB - available,
        "usageBytes": 16 * GIB - available,
    }
    disk = {"time": at(5), "availableBytes": 80 * GIB, "capacityBytes": 100 * GIB, "usedBytes": 20 * GIB}
    return {"node": {"nodeName": NODE, "memory": memory, "fs": disk, "runtime": {"imageFs": disk}}, "pods": []}


CONFIG: Final = {"kubeletconfig": {"evictionHard": {"memory.available": "1Gi"}, "cpuManagerPolicy": "static"}}
Things = dict[str, list[dict[str, Any]]]
"""Return the contents of a folder, by the kind of evidence."""


def quiet() -> Things:
    pulled = _event("Pulled", "Pod", "web-0", 1, "Container image already present on machine") | {"type": "Normal"}
    return {
        "nodes": [_node(WELL)],
        "pods": [_pod("web-0", RUNNING)],
        "events": [pulled],
        "configz": [CONFIG],
        "summaries": [_summary(8 * GIB)],
    }


def troubled() -> Things:
    """Each finding has one witness, or two that are taken away one by one."""
    pending = _condition(
        "PodScheduled", "False", 1, reason="Unschedulable", message="0/1 nodes are available: 1 Insufficient cpu."
    )
    evicted = {"phase": "Failed", "reason": "Evicted", "message": LOW, "startTime": at(-59)}
    return quiet() | {
        "nodes": [_node(SHORT)],
        "pods": [
            _pod("web-0", RUNNING),
            _pod("web-1", evicted),
            _pod("web-2", {"phase": "Pending", "conditions": [pending]}, node=""),
        ],
        "events": [
            _event("Evicted", "Pod", "web-1", 2, LOW),
            _event(
                "ImageGCFailed",
                "Node",
                NODE,
                3,
                "wanted to free 900 bytes, but freed 0 bytes space with errors in image deletion: []",
            ),
            _event(
                "FailedMount", "Pod", "web-0", 4, 'MountVolume.SetUp failed for volume "data" : secret "s" not found'
            ),
        ],
        "summaries": [_summary(GIB // 2)],
    }


class Kind(NamedTuple):
    """A kind of evidence, and the words for its absence."""

    name: str
    reported: str


KINDS: Final = (
    Kind("nodes", "No Node object was seen"),
    Kind(
        "pods",
        "No Pod object was seen: what happened to pods is known only from Events, and pending pods are unknown",
    ),
    Kind("events", "No Event was seen: image GC, Warnings, and what happened to deleted pods are unknown"),
    Kind("configz", "The thresholds of 1 node are assumed, because no /configz was seen"),
    Kind("summaries", "tatistics"),
)


def written(folder: Path, things: Things) -> Path:
    folder.mkdir(parents=True)
    objects = [each for kind in ("nodes", "pods", "events") for each in things.get(kind, ())]
    (folder / "objects.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    for kind, name in (("configz", "configz"), ("summaries", "stats-summary")):
        for each in things.get(kind, ()):
            (folder / f"{NODE}.{name}.json").write_text(json.dumps(each))
    return folder


@pytest.fixture(scope="module")
def read(empty_database: EmptyDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, "Read"]]:
    """Every folder is a cluster of its own, of one database."""
    folder = tmp_path_factory.mktemp("taken")
    with empty_database() as database:
        replay(database, map(decode, _sources(folder)), Settings())
        alone = each_alone(database)
        yield {span.cluster: Read.of(alone(span.cluster), span.cluster) for span in read_spans(database)}


def _sources(folder: Path) -> Iterator[Entry]:
    for state, things in (("quiet", quiet()), ("troubled", troubled())):
        for without in ("", *(kind.name for kind in KINDS)):
            left = {kind: found for kind, found in things.items() if kind != without}
            cluster = f"{state}-{without}"
            yield from read_sources([written(folder / cluster, left)], cluster=cluster)


class Read(NamedTuple):
    titles: frozenset[str]
    texts: tuple[str, ...]
    """The words of look; of a quiet cluster also of the page, whose parts a report has too."""

    @classmethod
    def of(cls, database: Database, cluster: str) -> "Read":
        out, asked = StringIO(), RequestedRange(cluster=cluster, last="all")
        (found,) = print_story(database, [cluster], Console(file=out, width=2000), None)
        texts = [" ".join(out.getvalue().split())]
        if cluster.startswith("quiet"):
            texts.append(page(database, T0 + timedelta(minutes=6), **asked.address()).text)
        return cls(frozenset(item.title for item in found.items), tuple(texts))


def test_a_quiet_cluster_that_was_seen_whole_is_well(read: dict[str, Read]) -> None:
    reported = read["quiet-"]
    assert reported.titles == frozenset()
    look, seen = reported.texts
    assert all("No evictions, node pressure" in text for text in reported.texts)
    assert "Uncertain" not in look
    assert "all clear" in seen


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("state", ["quiet", "troubled"])
def test_what_was_not_seen_is_named_as_that(read: dict[str, Read], state: str, kind: Kind) -> None:
    for text in read[f"{state}-{kind.name}"].texts:
        assert kind.reported in text
        assert "all clear" not in text or kind.name == "configz"


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("nodes", "evictions, node pressure, nodes that are not Ready, pending pods, Warning Events, image-GC or"),
        ("pods", "node pressure, nodes that are not Ready, Warning Events or image-GC"),
        ("events", "evictions, node pressure, nodes that are not Ready, pending pods or scheduling"),
    ],
)
def test_that_nothing_was_found_is_said_only_of_what_was_seen(read: dict[str, Read], kind: str, found: str) -> None:
    for text in read[f"quiet-{kind}"].texts:
        assert f"No {found}" in text


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_finding_rests_on_evidence_and_its_absence_is_never_nothing(read: dict[str, Read], kind: Kind) -> None:
    whole, left = read["troubled-"], read[f"troubled-{kind.name}"]
    assert whole.titles - left.titles, "a kind of evidence that no finding rests on"
    for text in left.texts:
        assert "No evictions" not in text
        assert "Nothing needs attention" not in text
