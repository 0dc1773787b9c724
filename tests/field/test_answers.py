"""Public reports as a person asks about them: what `look` says of each, and what saved queries answer."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from components.command import dsn, succeeds
from field.test_cases import case
from leadsman.cli.present.story import EVERY_LINE, print_story
from paths import TESTS
from sql.database.open import Database, connect

ASKED = [
    path.parent
    for path in sorted((TESTS / "field/cases").glob("*/facts.json"))
    if {"answers", "says"} & json.loads(path.read_text()).keys()
]


@pytest.fixture(scope="module")
def every_case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them in one database, each a cluster."""
    folder = tmp_path_factory.mktemp("field") / "db"
    for each in ASKED:
        succeeds("replay", *case(each)[0], "--cluster", each.name, "--quiet", db=folder)
    return folder


@pytest.fixture(scope="module")
def opened(every_case: Path) -> Iterator[Database]:
    with connect(dsn(every_case), read_only=True) as database:
        yield database


@pytest.mark.parametrize("folder", ASKED, ids=lambda folder: folder.name)
def test_what_a_person_asks_about_a_report_is_answered_right(folder: Path, every_case: Path) -> None:
    for fact in json.loads((folder / "facts.json").read_text()).get("answers", []):
        text = succeeds("query", fact["query"], "--param", f"cluster={folder.name}", "-o", "json", db=every_case)
        rows: list[dict[str, Any]] = json.loads(text or "[]")
        found = [row for row in rows if fact["where"].items() <= row.items()]
        assert len(found) == fact["count"], (fact, rows)
        wanted = fact.get("is", {})
        for row in found:
            assert {name: row[name] for name in wanted} == wanted, fact.get("why", fact["query"])


@pytest.mark.parametrize("folder", ASKED, ids=lambda folder: folder.name)
def test_look_says_of_a_report_what_is_right_and_nothing_that_is_not(folder: Path, opened: Database) -> None:
    told = json.loads((folder / "facts.json").read_text())
    written = StringIO()
    print_story(opened, [folder.name], Console(width=10_000, file=written), None, EVERY_LINE, "")
    text = " ".join(written.getvalue().split())
    for sentence in told.get("says", []):
        assert sentence in text, text
    for sentence in told.get("never", []):
        assert sentence not in text, text
