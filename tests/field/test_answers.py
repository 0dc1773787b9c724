"""Public reports as a person asks about them: what `look` says of each, and what saved queries answer."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from functools import cache
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from components.alone import Alone, each_alone
from components.command import dsn, leadsman
from field.folding import shown
from field.test_cases import case
from ingest.files.ahead import read_ahead
from leadsman.cli.present.story import EVERY_LINE, print_story
from leadsman.run.replay import replay
from leadsman.run.settings import Settings
from paths import TESTS
from sql.database.open import Database, connect
from sql.questions.queries import run, saved_query

ASKED = [
    path.parent
    for path in sorted((TESTS / "field/cases").glob("*/facts.json"))
    if {"answers", "says", "fits"} & json.loads(path.read_text()).keys()
]


@pytest.fixture(scope="module")
def every_case(migrated_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them in one database, each a cluster, by one replay: after each, all clusters are calculated anew."""
    folder = tmp_path_factory.mktemp("field") / "db"
    shutil.copytree(migrated_folder, folder, symlinks=True)
    items = chain.from_iterable(read_ahead(case(each)[0], cluster=each.name) for each in ASKED)
    with connect(dsn(folder)) as database:
        report, refused = replay(database, items, Settings())
    assert (report.dead_letters, refused) == (Counter(), None)
    return folder


@pytest.fixture(scope="module")
def opened(every_case: Path) -> Iterator[Database]:
    with connect(dsn(every_case), read_only=True) as database:
        yield database


@pytest.fixture(scope="module")
def alone(opened: Database) -> Alone:
    """The database as a look at one of these reports has it."""
    return each_alone(opened)


@pytest.mark.parametrize("folder", ASKED, ids=lambda folder: folder.name)
def test_what_a_person_asks_about_a_report_is_answered_right(folder: Path, opened: Database) -> None:
    reported = json.loads((folder / "facts.json").read_text())
    for fact in reported.get("answers", []):
        where = fact["where"] | {"cluster": reported.get("cluster", folder.name)}
        found = [row for row in answers(opened, fact["query"]) if shown(row, where) == where]
        assert len(found) == fact["count"], fact
        for row in found:
            assert shown(row, fact.get("is", {})) == fact.get("is", {}), fact.get("why", fact["query"])


@cache
def answers(database: Database, query: str) -> list[dict[str, Any]]:
    """Time for all clusters at once: some questions take a second."""
    answer = run(database, saved_query(query), {})
    return [dict(zip(answer.column_names, row, strict=True)) for row in answer.rows]


FITS = [folder for folder in ASKED if "fits" in json.loads((folder / "facts.json").read_text())]


@pytest.mark.parametrize("folder", FITS, ids=lambda folder: folder.name)
def test_a_pod_that_the_kubelet_refused_does_not_fit(folder: Path, every_case: Path) -> None:
    for fact in json.loads((folder / "facts.json").read_text())["fits"]:
        asked = "fit", "-f", folder / fact["pod"], "--cluster", folder.name, "-o", "json"
        done = leadsman(*asked, db=every_case)
        (node,) = json.loads(done.stdout)["nodes"]
        assert shown(node, fact["is"]) == fact["is"], fact["why"]


@pytest.mark.parametrize("folder", ASKED, ids=lambda folder: folder.name)
def test_look_says_of_a_report_what_is_right_and_nothing_that_is_not(folder: Path, alone: Alone) -> None:
    reported = json.loads((folder / "facts.json").read_text())
    cluster, written = reported.get("cluster", folder.name), StringIO()
    print_story(alone(cluster), [cluster], Console(width=10_000, file=written), None, EVERY_LINE, "")
    text = " ".join(written.getvalue().split())
    for sentence in reported.get("says", []):
        assert sentence in text, text
    for sentence in reported.get("never", []):
        assert sentence not in text, text
