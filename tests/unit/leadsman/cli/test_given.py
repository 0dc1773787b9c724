"""A mistake in a command line is told before any work: nothing heavy is imported for it, and nothing is made."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from leadsman.cli.exits import EXIT_NO_DATABASE, EXIT_NO_SOURCE, EXIT_USAGE
from paths import ROOT
from unit.leadsman.cli.test_lazy import HEAVY

ASKED: Final = """
import json, sys
from leadsman.cli.main import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    print(json.dumps([end.code, sorted(sys.modules)]))
"""
SOURCES: Final = ("look", "replay", "inspect", "backtest", "simulate-scheduler")
NO_FILE: Final = "nope.json: no such file or folder"


def answered(folder: Path, *arguments: str) -> tuple[int, str, set[str]]:
    """The status, what was told, and the heavy packages that were imported; in a folder that stays as it is."""
    (folder / "empty.json").touch()
    (folder / "other").mkdir()
    (folder / "other" / "notes.txt").write_text("nothing")
    before = sorted(folder.rglob("*"))
    command = [sys.executable, "-c", ASKED, *arguments]
    environment = {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=True)
    assert sorted(folder.rglob("*")) == before
    status, modules = json.loads(done.stdout.splitlines()[-1])
    return status, done.stderr, HEAVY & {*modules}


@pytest.mark.parametrize("command", SOURCES)
@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("nope.json", NO_FILE),
        ("https://gist.example/dump.json", "dump.json: an address cannot be read. Download it"),
        ("empty.json", "empty.json: the file is empty"),
        ("other", "other: this folder has nothing that Leadsman reads"),
    ],
)
def test_a_source_that_cannot_be_read_costs_nothing(command: str, path: str, told: str, tmp_path: Path) -> None:
    status, error, heavy = answered(tmp_path, command, path)
    assert (status, heavy) == (EXIT_NO_SOURCE, set())
    assert told in error


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ("replay empty.json --speed x", EXIT_USAGE, "'x' is not a speed"),
        ("replay other nope.json", EXIT_NO_SOURCE, "other: this folder has nothing that Leadsman reads"),
        ("look --for x", EXIT_USAGE, "not a duration"),
        ("look --config nope.yaml", EXIT_USAGE, "nope.yaml: cannot be read: No such file"),
        ("up --config other", EXIT_USAGE, "other: cannot be read: Is a directory"),
        ("backtest other/notes.txt --rules nope.yaml", EXIT_USAGE, "nope.yaml: cannot be read"),
        ("query nope", EXIT_USAGE, "there is no saved query 'nope'"),
        ("query nodes --db chdb://nope", EXIT_NO_DATABASE, "there is no database yet"),
        ("query nodes --db mysql://nope", EXIT_USAGE, "begins with chdb:, http: or https:"),
        ("digest", EXIT_NO_DATABASE, "there is no database yet"),
        ("fit -f nope", EXIT_USAGE, "No such file"),
        ("fit --cpu x", EXIT_USAGE, "'x' is not a Kubernetes quantity"),
        ("capture -o x --keep 0", EXIT_USAGE, "not in the range"),
    ],
)
def test_a_wrong_argument_costs_nothing(arguments: str, status: int, told: str, tmp_path: Path) -> None:
    ended, error, heavy = answered(tmp_path, *arguments.split())
    assert (ended, heavy - {"rich"}) == (status, set())
    assert told in error


def test_a_file_that_may_not_be_read_is_reported_as_such(tmp_path: Path) -> None:
    (tmp_path / "loop.json").symlink_to("loop.json")  # cannot be opened, by root neither
    status, error, _ = answered(tmp_path, "replay", "loop.json")
    assert status == EXIT_NO_SOURCE
    assert "loop.json: cannot be opened: Too many levels of symbolic links" in error
