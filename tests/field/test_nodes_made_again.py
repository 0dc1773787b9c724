"""A Node that was deleted and made again under its name is another node: what was so of the first is over."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any, Final, NamedTuple

import pytest
from rich.console import Console

from components.database import EmptyDatabase
from components.reading import Text
from field import test_what_is_so as so
from ingest.files.sources import read_sources
from ingest.normalize.decode import decode
from leadsman.cli.present.story import EVERY_LINE, print_story
from leadsman.run.replay import replay
from leadsman.run.settings import Settings
from leadsman.web.reading.scope import ALL, RequestedRange
from leadsman.web.rendering.report import write_report
from sql.questions.queries import run, saved_query

pytestmark = pytest.mark.engine

PRESSED: Final = [
    so.condition("Ready", "False", 1, reason="KubeletNotReady", message="PLEG is not healthy"),
    so.condition("MemoryPressure", "True", 1),
    so.condition("DiskPressure", "True", 1),
]
FRESH: Final = [so.condition("Ready", "True", 5.2), so.condition("MemoryPressure", "False", 5)]
FULL: Final = {"availableBytes": 3 * so.GIB, "usedBytes": 97 * so.GIB}


def _of(uid: str, line: so.Line, change: str = "MODIFIED") -> so.Line:
    minutes, source, resource, _, about, thing = line
    return minutes, source, resource, change, about, thing | {"metadata": thing["metadata"] | {"uid": uid}}


def _lines(name: str, *, is_seen_to_end: bool, is_sampled: bool) -> Iterator[so.Line]:
    yield so.configured(name, evictionHard={"memory.available": "4Gi"})
    yield _of("first", so.node(name, 0))
    yield _of("first", so.node(name, 1, PRESSED))
    yield from (so.sample(name, nth / 6, memory=2 * so.GIB, disk=FULL) for nth in range(18))
    yield so.event("ImageGCFailed", "Node", name, 2.5, so.UNDELETED)
    if is_seen_to_end:
        yield _of("first", so.node(name, 4, PRESSED), "DELETED")
    yield _of("second", so.node(name, 5, FRESH, created=5), "ADDED")
    if is_sampled:
        yield from (so.sample(name, 5 + nth / 6, memory=12 * so.GIB) for nth in range(1, 19))
    yield so.pod(f"on-{name}", name, so.CAME, 6)


KINDS: Final = {"seen": (True, True), "unseen": (False, True), "silent": (True, False)}


class Reported(NamedTuple):
    look: str
    report: str
    answers: dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def reported(
    empty_database: EmptyDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Reported]]:
    capture = tmp_path_factory.mktemp("again") / "capture.jsonl"
    lines = []
    for kind, (is_seen_to_end, is_sampled) in KINDS.items():
        for minutes, source, resource, change, about, thing in _lines(
            kind, is_seen_to_end=is_seen_to_end, is_sampled=is_sampled
        ):
            of = {"ts": so.at(minutes), "cluster": kind, "source": source, "resource": resource, "type": change}
            lines.append(json.dumps(of | ({"node": about} if about else {}) | {"object": thing}) + "\n")
    capture.write_text("".join(sorted(lines)))
    with empty_database() as database:
        replay(database, map(decode, read_sources([capture])), Settings())
        read = {name: run(database, saved_query(name), {}) for name in ("alerts", "image_gc", "next_eviction")}
        rows = {name: [dict(zip(of.column_names, row, strict=True)) for row in of.rows] for name, of in read.items()}
        found = {}
        for kind in KINDS:
            out = StringIO()
            print_story(database, [kind], Console(file=out, width=10_000), None, EVERY_LINE)
            report = write_report(database, RequestedRange(cluster=kind, last=ALL), so.T0 + timedelta(minutes=so.END))
            answers = {name: [each for each in of if each["cluster"] == kind] for name, of in rows.items()}
            found[kind] = Reported(" ".join(out.getvalue().split()), Text(report).text, answers)
        yield found


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_so_of_the_first_node_is_over(reported: dict[str, Reported], kind: str) -> None:
    for text in (reported[kind].look, reported[kind].report):
        assert re.search("Earlier.*Image GC failed to delete images.*As last reported: .*That node is gone.", text)
    if kind != "silent":  # that something needs no attention any more would be more than is known
        assert "Nothing was found that still needs attention. During this range" in reported[kind].report
        assert "need attention0" in reported[kind].report  # the tile is about the same moment
    now, _, _ = reported[kind].look.partition("Earlier")
    assert not re.search("Image GC fails|Pressure, since|below", now)


@pytest.mark.parametrize("kind", KINDS)
def test_no_alert_of_the_first_node_fires(reported: dict[str, Reported], kind: str) -> None:
    alerts = reported[kind].answers["alerts"]
    assert {"ImageGCInsufficientFreed", "EvictionThresholdNear"} <= {row["alertname"] for row in alerts}
    assert [row for row in alerts if row["status"] == "firing"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_answer_about_now_has_the_first_node(reported: dict[str, Reported], kind: str) -> None:
    assert {row["verdict"] for row in reported[kind].answers["image_gc"]} <= {"", None}
    assert [row for row in reported[kind].answers["next_eviction"] if row["room"] < 0] == []
