"""Every row of the pages of capabilities and of the mission shows what it claims, on the databases that they make."""

import ast
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from click.testing import CliRunner

from components.command import dsn, succeeds
from components.page.site import serving
from leadsman.cli.main import app
from leadsman.cli.present.layout import lines
from leadsman.cli.present.tables import only, part
from leadsman.cli.query import MOST_ROWS
from named import functions, is_on
from paths import LATE_JOINERS, NODE_PRESSURE, ROOT, SCENARIOS
from sql.database.held import connect_to_read
from sql.database.open import Result
from sql.questions.cells import as_columns
from sql.questions.queries import SavedQuery, run, with_forms

CAPABILITIES: Final = (ROOT / "docs/capabilities.md").read_text("utf-8")
MISSION: Final = (ROOT / "docs/mission.md").read_text("utf-8")
BESIDE: Final = "mission-db"
NOTHING: Final = ("Nothing was seen in the range", "[]", "0 rows")
LINK: Final = re.compile(r"\[[^]]+\]\([^)]+\)")
PROMISED: Final = re.compile(r"`([^`]+)`|(?<![\w.:])(\d+(?:[.,]\d+)*(?: (?:GiB|MiB|%))?)(?![\w:])")
IN_PART: Final = frozenset(
    f"leadsman look tests/scenarios/{name}/capture.jsonl" for name in ("node_leases", "scheduler_cache")
)
"""Looks at scenarios that have impossible records on purpose: status 3."""


class Row(NamedTuple):
    name: str
    state: str
    command: str
    note: str
    answer: str = ""
    """Empty on the page of capabilities, which has none."""

    @property
    def promised(self) -> list[str]:
        """Return the names and numbers of the answer; what follows a semicolon is shown elsewhere."""
        shown = LINK.sub("", self.answer).partition(";")[0]
        return [name or number for name, number in PROMISED.findall(shown)]


def _rows(page: str, heading: str = "") -> list[Row]:
    section = page.split(f"\n## {heading}\n")[1].split("\n## ", maxsplit=1)[0] if heading else page
    lines = [line for line in section.splitlines() if line.startswith("| ") and " | `" in line]
    return [_row([cell.strip() for cell in line.strip("|").split(" | ")]) for line in lines]


def _row(cells: list[str]) -> Row:
    """A row of either page: the name is before the state, and a page can have an answer between command and note."""
    at = next(at for at, each in enumerate(cells) if each.startswith(("`leadsman ", "`pytest ")))
    return Row(" ".join(cells[: at - 1]), cells[at - 1], cells[at].strip("`"), cells[-1], "".join(cells[at + 1 : -1]))


FIELD: Final = _rows(CAPABILITIES, "What can tools of this field do?")
ASKED: Final = _rows(CAPABILITIES, "What do people ask for now?")
THINGS: Final = _rows(MISSION)
ALL: Final = [*FIELD, *ASKED, *THINGS]
COMMANDS: Final = list(dict.fromkeys(row.command for row in ALL))
SHOWN: Final = [each for each in COMMANDS if each.startswith("leadsman ")]
TRIED: Final = [each for each in COMMANDS if each.startswith("pytest ")]


@pytest.fixture(scope="module")
def made(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """The databases that the pages' own commands make, each held by a process, so that no command opens it anew."""
    demo, beside = (
        re.search(rf"^{each}$", MISSION, re.MULTILINE) for each in (DEMO, f"leadsman replay (.+) --db {BESIDE}")
    )
    assert demo
    assert beside
    assert demo[0] in CAPABILITIES
    folder = tmp_path_factory.mktemp("capabilities")
    found = {"": folder / "leadsman-db", BESIDE: folder / BESIDE}
    first, second, *more = demo[1].split()
    assert [ROOT / first, ROOT / second] == [NODE_PRESSURE, LATE_JOINERS]
    shutil.copytree(demo_folder, found[""], symlinks=True)
    succeeds("replay", "-q", *more, db=found[""], cwd=ROOT)
    succeeds("replay", "-q", *beside[1].split(), db=found[BESIDE], cwd=ROOT)
    with serving(found[""]), serving(found[BESIDE]):
        yield found


DEMO: Final = 'make demo CAPTURE="(.+)"'


def test_every_capability_has_a_state_a_command_and_a_note_where_something_lacks() -> None:
    assert (len(FIELD), len(ASKED)) == (55, 16)
    assert [each.name.partition(" ")[0] for each in THINGS] == [str(number) for number in range(1, 154)]
    assert {row.state for row in ALL} <= {"yes", "partly", "no"}
    assert [row.name for row in ALL if (row.state == "yes") == bool(row.note)] == []
    assert set(COMMANDS) == {*SHOWN, *TRIED}
    assert [row.name for row in THINGS if row.command in SHOWN and not row.promised] == []


def test_the_page_of_the_mission_counts_its_own_rows() -> None:
    yes, partly, no = ([row.state for row in THINGS].count(state) for state in ("yes", "partly", "no"))
    assert f"{yes} are answered, {partly} in part, {no} not" in " ".join(MISSION.split())


@pytest.mark.parametrize("command", SHOWN)
def test_a_command_shows_what_its_row_claims(
    command: str, made: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command with an answer prints its names and numbers as a person sees them, not only in JSON."""
    monkeypatch.chdir(ROOT)
    _, name, *words = shlex.split(command)
    words = [dsn(made[word]) if word == BESIDE else word for word in words]
    promised = [each for row in ALL if row.command == command for each in row.promised]
    form = ["-o", "json"] if name == "query" and not promised else []
    done = CliRunner().invoke(app, [name, *words, *form], env={"LEADSMAN_DB": dsn(made[""]), "COLUMNS": "400"})
    # `fit` says by 1 that no node takes the pod
    assert done.exit_code in ({0, 1} if name == "fit" else {3 if command in IN_PART else 0}), done.output
    assert done.stdout.strip()
    assert not done.stdout.startswith(NOTHING)
    shown = " ".join(done.stdout.split())
    lacking = [each for each in promised if not re.search(rf"(?<![\w.]){re.escape(each)}(?!\w)", shown)]
    assert lacking == []


@pytest.mark.parametrize("db", ["", BESIDE])
def test_at_100_columns_every_question_is_a_table_with_whole_names(db: str, made: dict[str, Path]) -> None:
    """Asked once of all clusters, and shown as for each of them."""
    with connect_to_read(dsn(made[db])) as database:
        answers = [(query, run(database, query, {})) for query in with_forms()]
    folded = [
        f"{query.name} of {cluster}: {cell}"
        for query, every in answers
        for cluster, rows in _by_cluster(every)
        for cell in _not_whole(query, every._replace(rows=rows))
    ]
    assert folded == []


def _by_cluster(result: Result) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    if "cluster" not in result.column_names:
        yield "all", list(result.rows)
        return
    at = result.column_names.index("cluster")
    for cluster in dict.fromkeys(row[at] for row in result.rows):
        yield cluster, [row for row in result.rows if row[at] == cluster]


def _not_whole(query: SavedQuery, result: Result) -> Iterator[str]:
    """Names and numbers that no line has, columns that are left out, and a record in place of the table."""
    columns = as_columns(only(part(result, MOST_ROWS, newest=query.newest), query.shows))
    shown = list(lines(columns, 100, fewer=True))
    yield from (line for line in shown if line == "[1]" or line.startswith("more with -o wide"))
    names = [each for each in columns if not any(" " in cell for cell in each.cells)]
    yield from (cell for each in names for cell in each.cells if not any(cell in line for line in shown))


@pytest.mark.parametrize("command", TRIED)
def test_a_named_test_exists_and_is_not_skipped(command: str) -> None:
    """They run with all the others; here only that the command picks one that is on."""
    _, path, option, wanted = shlex.split(command)
    assert option == "-k"
    on = {each.name for each in functions(ast.parse((ROOT / path).read_text("utf-8"))) if is_on(each)}
    assert wanted in on or (SCENARIOS / wanted / "capture.jsonl").is_file()
