"""Every saved question on terminals of 80, 100 and 120 columns, and what it gives where there are no rows."""

import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from leadsman.cli.main import app
from leadsman.cli.present.layout import lines
from leadsman.cli.present.questions import GROUPS
from leadsman.cli.present.tables import only, part
from leadsman.cli.query import MOST_ROWS
from sql.database.open import Database, Result, connect
from sql.questions.cells import as_columns, headings
from sql.questions.missing import INPUTS, why_empty
from sql.questions.queries import SavedQuery, run, saved_queries, saved_query, with_forms

ALL = with_forms()
LISTED = saved_queries()


class Answer(NamedTuple):
    result: Result
    reason: str


@pytest.fixture(scope="module")
def asked(demo_folder: Path) -> Iterator[Database]:
    with connect(f"chdb://{demo_folder}", read_only=True) as database:
        yield database


@pytest.fixture(scope="module")
def answer(asked: Database) -> Callable[[str], Answer]:
    """Answers of a saved question, asked once for all widths."""

    @cache
    def of(name: str) -> Answer:
        result = run(asked, saved_query(name), {})
        return Answer(result, "" if result.rows else why_empty(asked, saved_query(name), {}))

    return of


@pytest.mark.parametrize("query", ALL, ids=lambda query: query.name)
@pytest.mark.parametrize("columns", [80, 100, 120])
def test_no_line_is_wider_and_no_heading_is_folded(
    query: SavedQuery, columns: int, answer: Callable[[str], Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    result, reason = answer(query.name)
    monkeypatch.setattr("leadsman.cli.database.existing_database", lambda _dsn, **_: nullcontext())
    monkeypatch.setattr("sql.questions.queries.run", lambda *_: result)
    monkeypatch.setattr("sql.questions.missing.why_empty", lambda *_: reason)
    shown = CliRunner().invoke(app, ["query", query.name], env={"COLUMNS": str(columns)}, catch_exceptions=False)
    assert shown.exit_code == 0
    first, *rest = shown.stdout.splitlines()
    assert max(map(cell_len, (first, *rest))) <= columns
    if not result.rows:
        assert first.startswith("0 rows. ")
        return
    words = first.split() if first != "[1]" else [line.split("  ")[0] for line in rest]
    shows = headings(query.shows or result.column_names)
    beneath = re.split("in all rows: |more with -o wide: ", " ".join(" ".join(rest).split()), maxsplit=1)[-1]
    assert all(each in words or each in re.split("[ ,]+", beneath) for each in shows)
    assert rest[-1] == ended(len(result.rows))


@pytest.mark.parametrize("query", ALL, ids=lambda query: query.name)
@pytest.mark.parametrize("cluster", ["lab", "late-joiners"])
def test_at_100_columns_a_question_about_a_cluster_is_a_table_and_cuts_nothing(
    query: SavedQuery, cluster: str, asked: Database
) -> None:
    given = {"cluster": cluster} if any(each.name == "cluster" for each in query.parameters) else {}
    result = only(part(run(asked, query, given), MOST_ROWS, newest=query.newest), query.shows)
    columns = [each._replace(cells=[cell.replace("…", "") for cell in each.cells]) for each in as_columns(result)]
    shown = list(lines(columns, 100, fewer=True))
    assert not [line for line in shown if line.startswith("more with")], "names of nodes are short here"
    assert not result.rows or shown[0] != "[1]"
    assert not [line for line in shown if "…" in line]


def ended(rows: int) -> str:
    """Return the last line of a table with so many rows."""
    if rows > MOST_ROWS:
        return f"{MOST_ROWS} of {rows:,} rows; --limit 0 shows all"
    return "1 row" if rows == 1 else f"{rows} rows"


def test_wide_cuts_nothing_and_a_pipe_neither(demo_folder: Path) -> None:
    for arguments in (("-o", "wide"), ()):
        environment = {"COLUMNS": "80" if arguments else None, "LEADSMAN_DB": f"chdb://{demo_folder}"}
        shown = CliRunner(env=environment).invoke(app, ["query", "story", *arguments]).stdout
        assert "the largest request that fits one NUMA node is 6" in shown
        assert "…" not in shown.splitlines()[1]


@pytest.mark.parametrize("query", ALL, ids=lambda query: query.name)
def test_a_saved_question_has_a_group_and_names_its_inputs_as_alert_coverage_does(query: SavedQuery) -> None:
    assert query.group in GROUPS
    assert set(query.needs) <= INPUTS.keys()


def test_the_list_has_a_line_a_question_under_the_heading_of_its_group() -> None:
    shown = CliRunner().invoke(app, ["query", "--list"], env={"COLUMNS": "80"}).stdout.splitlines()
    assert [line.rstrip(":") for line in shown if not line.startswith(" ")] == list(GROUPS)
    assert [line.split()[0] for line in shown if line.startswith("  ") and line[2] != " "] == [
        each.name for group in GROUPS for each in LISTED if each.group == group
    ]
    assert max(map(len, shown)) <= 80
    whole = " ".join(" ".join(shown).split())
    assert all(each.description in whole for each in LISTED)


def test_no_rows_name_the_input_that_was_never_seen(asked: Database) -> None:
    """The second capture has no statistics; the first one has Events of all kinds and no blind spot."""
    assert "Cluster late-joiners: no statistics of kubelets (/stats/summary) were seen" in why_empty(
        asked, saved_query("stalls"), {}
    )
    assert "Cluster lab: nothing of this kind in " in why_empty(asked, saved_query("blind_spots"), {})
    assert "Cluster lab: nothing with resource=gold in " in why_empty(asked, saved_query("fit"), {"resource": "gold"})
