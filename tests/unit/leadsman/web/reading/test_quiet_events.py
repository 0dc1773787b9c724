"""A cluster in which no Event came is well since its Events are watched, and only then (rules: list-and-watch)."""

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest
from rich.console import Console

from components.database import EmptyDatabase
from components.reading import Text, page
from ingest.files.sources import read_sources
from ingest.normalize.decode import decode
from leadsman.cli.present.story import print_story
from leadsman.run.replay import replay
from leadsman.run.settings import Settings
from leadsman.web.reading.evidence import Evidence, nothing_found, paced, read_evidence
from leadsman.web.reading.overview import read_spans
from leadsman.web.reading.scope import ALL, RequestedRange, choose
from leadsman.web.rendering.report import write_report
from sql.database.open import Database
from sql.questions.missing import why_empty
from sql.questions.queries import saved_query
from unit.leadsman.web.attention.test_taken_away import NODE, T0, at, quiet

pytestmark = pytest.mark.engine

END: Final = 5
"""Minutes after T0 of the last sample."""
SINCE: Final = "2026-07-01 12:01:00 UTC"


def _began(minutes: float) -> tuple[float, str, dict[str, Any]]:
    return minutes + 0.1, "BOOKMARK", {"anew": True, "since": at(minutes)}


HEARD: Final = (4.5, "BOOKMARK", dict[str, Any]())
_PULLED: Final = quiet()["events"][0]
REFUSED: Final = {"error": "events cannot be read: Forbidden (403)", "problem": "unreadable"}
WATCHES: Final[dict[str, list[tuple[float, str, dict[str, Any]]]]] = {
    "watched": [_began(1), HEARD],
    "again": [_began(0), (0.5, "ERROR", {"error": "gap: a new list", "problem": "gap"}), _began(1), HEARD],
    "unlisted": [],
    "refused": [(1, "ERROR", REFUSED)],
    "refused later": [_began(1), (4, "ERROR", REFUSED)],
    "silent": [_began(1), (4, "ERROR", {"error": "silent", "problem": "silent", "silent_seconds": 120})],
    "left": [_began(-2)],
    "older": [(-2 * 24 * 60, "ADDED", _PULLED)],
    "older today": [(-90, "ADDED", _PULLED)],
}
"""Observations of the stream of Events: minutes after T0, type and object."""
WELL: Final = ("watched", "again")
UNWELL: Final = [name for name in WATCHES if name not in WELL]
NOW: Final = T0 + timedelta(minutes=END, seconds=20)
UNKNOWN: Final = re.compile(r"No Event was seen(?: after 2026-0[67]-\d\d \d\d:\d\d:\d\d UTC)?: image GC, Warnings")


def _lines(cluster: str) -> Iterator[str]:
    things = quiet()
    seen = [
        *(("list", "nodes", "ADDED", each) for each in things["nodes"]),
        *(("list", "pods", "ADDED", each) for each in things["pods"]),
        *(("kubelet", "configz", "SNAPSHOT", each) for each in things["configz"]),
        *(("kubelet", "stats/summary", "SNAPSHOT", each) for each in things["summaries"]),
    ]
    for source, resource, change, thing in seen:
        of_node = {"node": NODE} if source == "kubelet" else {}
        of = {"ts": at(END), "cluster": cluster, "source": source, "resource": resource, "type": change}
        yield json.dumps(of | of_node | {"object": thing})
    for minutes, change, thing in WATCHES[cluster]:
        of = {"ts": at(minutes), "cluster": cluster, "source": "watch", "resource": "events", "type": change}
        yield json.dumps(of | {"object": thing})


@pytest.fixture(scope="module")
def seen(empty_database: EmptyDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    capture: Path = tmp_path_factory.mktemp("quiet") / "capture.jsonl"
    capture.write_text("\n".join(line for name in WATCHES for line in _lines(name)))
    with empty_database() as database:
        replay(database, map(decode, read_sources([capture])), Settings())
        yield database


def _reported(database: Database, cluster: str) -> tuple[str, Text, Text]:
    """Return the texts of look, page and report."""
    out, asked = StringIO(), RequestedRange(cluster=cluster, last=ALL)
    print_story(database, [cluster], Console(file=out, width=2000), None)
    shown = page(database, NOW, **asked.address())
    written = write_report(database, asked, T0 + timedelta(days=1))
    return " ".join(out.getvalue().split()), shown, Text(written)


def _evidence(database: Database, cluster: str, now: datetime | None) -> Evidence:
    """The evidence of a page at a time; that of a look or a report without one."""
    scope = choose(read_spans(database), RequestedRange(cluster=cluster, last=ALL), now)
    return read_evidence(database, paced(database, scope))


def _says_that_nothing_happened(text: str) -> None:
    assert "No evictions, node pressure, nodes that are not Ready, pending pods, Warning Events, image-GC" in text
    assert f"No Event arrived since {SINCE}, when their watch began." in text
    assert "No Event was seen" not in text


def _calls_nothing_well(text: str) -> None:
    assert "No Event arrived since" not in text
    assert UNKNOWN.search(text)


def test_look_page_and_report_say_what_the_evidence_is(seen: Database) -> None:
    """The evidence of one cluster of each kind; what it is of the others, the tests below prove."""
    look, *pages = _reported(seen, "watched")
    for text in (look, *(each.text for each in pages)):
        _says_that_nothing_happened(text)
    for each in pages:
        assert "all clear" in each.text
        assert f"Nothing needs attention, since {SINCE}" in each.text
    look, *pages = _reported(seen, "refused later")
    for text in (look, *(each.text for each in pages)):
        _calls_nothing_well(text)
        assert "all clear" not in text


@pytest.mark.parametrize("cluster", WELL)
def test_a_watch_without_an_event_proves_that_nothing_happened_since_it_began(seen: Database, cluster: str) -> None:
    for now in (NOW, None):
        evidence = _evidence(seen, cluster, now)
        assert evidence.complete
        assert f"{evidence.quiet_since:%F %T} UTC" == SINCE
        _says_that_nothing_happened(nothing_found(evidence))
    reported = why_empty(seen, saved_query("image_gc"), {"cluster": cluster})
    assert reported.startswith(f"Cluster {cluster}: nothing of this kind in ")


@pytest.mark.parametrize("cluster", UNWELL)
def test_without_a_complete_watch_nothing_is_called_well(seen: Database, cluster: str) -> None:
    """Events that are not listed, refused from the beginning or later, silent, or that nobody watches any more."""
    for now in (NOW, None):
        evidence = _evidence(seen, cluster, now)
        assert not evidence.complete
        _calls_nothing_well(nothing_found(evidence))


def test_a_watch_that_shows_no_sign_of_life_proves_nothing_of_now(seen: Database) -> None:
    """Signs of life of a watch of Events come every 100 s; the last of this one came at 12:04:30."""
    assert not _evidence(seen, "watched", T0 + timedelta(minutes=9, seconds=40)).complete
