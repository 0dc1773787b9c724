"""Every row of the page of capabilities shows what it claims, on the database that the page makes."""

import ast
import json
import re
import shlex
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from click.testing import CliRunner

from components.command import dsn, succeeds
from leadsman.cli.main import app
from named import functions, is_on
from paths import ROOT, SCENARIOS

PAGE: Final = (ROOT / "docs/capabilities.md").read_text("utf-8")
NOTHING: Final = "Nothing was seen in the range"


class Row(NamedTuple):
    name: str
    state: str
    command: str
    note: str


def _rows(heading: str) -> list[Row]:
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [Row(*(cell.strip(" `") for cell in line.strip("|").split(" | "))) for line in lines]


FIELD: Final = _rows("What can tools of this field do?")
ASKED: Final = _rows("What do people ask for now?")
ALL: Final = [*FIELD, *ASKED]
COMMANDS: Final = list(dict.fromkeys(row.command for row in ALL))
SHOWN: Final = [each for each in COMMANDS if each.startswith("leadsman ")]
TRIED: Final = [each for each in COMMANDS if each.startswith("pytest ")]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database that the page's own command makes."""
    made = re.search(r'^make demo CAPTURE="(.+)"$', PAGE, re.MULTILINE)
    assert made
    folder = tmp_path_factory.mktemp("capabilities") / "leadsman-db"
    succeeds("replay", "-q", *made[1].split(), db=folder, cwd=ROOT)
    return folder


def test_every_capability_has_a_state_a_command_and_a_note_where_something_lacks() -> None:
    assert (len(FIELD), len(ASKED)) == (54, 10)
    assert {row.state for row in ALL} <= {"yes", "partly", "no"}
    assert [row.name for row in ALL if (row.state == "yes") == bool(row.note)] == []
    assert set(COMMANDS) == {*SHOWN, *TRIED}


@pytest.mark.parametrize("command", SHOWN)
def test_a_command_shows_what_its_row_claims(command: str, demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    _, name, *words = shlex.split(command)
    form = ["-o", "json"] if name == "query" else []
    done = CliRunner().invoke(app, [name, *words, *form], env={"LEADSMAN_DB": dsn(demo), "COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    if name == "query":
        assert json.loads(done.stdout)
    else:
        assert done.stdout
        assert NOTHING not in done.stdout


@pytest.mark.parametrize("command", TRIED)
def test_a_named_test_exists_and_is_not_skipped(command: str) -> None:
    """They run with all the others; here only that the command picks one that is on."""
    _, path, option, wanted = shlex.split(command)
    assert option == "-k"
    on = {each.name for each in functions(ast.parse((ROOT / path).read_text("utf-8"))) if is_on(each)}
    assert wanted in on or (SCENARIOS / wanted / "capture.jsonl").is_file()
