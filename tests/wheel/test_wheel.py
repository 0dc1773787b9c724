"""`make wheel` builds a wheel that has every file and works in an empty environment like the checkout.

The environments are made of the locked versions, so nothing is installed that the locks do not name.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from paths import LAYERS, NODE_PRESSURE, ROOT

BIN: Final = Path(sys.executable).parent
WRONG_USAGE: Final = 2


class Environment(NamedTuple):
    """An environment with the wheel in it, and nothing of the checkout on its path."""

    folder: Path

    def run(self, *arguments: str, status: int = 0) -> str:
        """Return the command's output: standard output if it succeeds, else standard error."""
        ours = ("LEADSMAN_", "PYTHON")
        variables = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        done = subprocess.run(
            [self.folder / "bin/leadsman", *arguments],
            check=False,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=variables,
        )
        assert done.returncode == status, done.stderr
        return done.stderr if status else done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    _checked(BIN / "python", "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
    (built,) = folder.glob("leadsman-*.whl")
    return built


def installed(wheel: Path, folder: Path, lock: str) -> Environment:
    _checked(BIN / "uv", "venv", "--quiet", "--python", sys.executable, folder)
    pip = (BIN / "uv", "pip", "install", "--quiet", "--python", folder / "bin/python", "--no-deps")
    _checked(*pip, "--require-hashes", "-r", ROOT / ".lock" / f"{lock}.txt")
    _checked(*pip, wheel)
    _checked(BIN / "uv", "pip", "check", "--quiet", "--python", folder / "bin/python")
    return Environment(folder)


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Without extras."""
    return installed(wheel, tmp_path_factory.mktemp("bare") / "environment", "runtime")


@pytest.fixture(scope="module")
def complete(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return installed(wheel, tmp_path_factory.mktemp("complete") / "environment", "all")


def test_the_wheel_holds_the_tracked_files_of_the_packages_and_no_others(wheel: Path) -> None:
    tracked = _checked("git", "ls-files", "-z", *LAYERS).split("\0")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == {name for name in tracked if name}


def test_a_replay_from_the_wheel_stores_the_same_rows_as_one_from_the_checkout(
    complete: Environment, tmp_path: Path
) -> None:
    complete.run("replay", str(NODE_PRESSURE), "--quiet", "--db", f"chdb://{tmp_path}/wheel")
    reported = complete.run("digest", "--db", f"chdb://{tmp_path}/wheel")
    checkout = f"chdb://{tmp_path}/checkout"
    _checked(BIN / "leadsman", "replay", NODE_PRESSURE, "--quiet", "--db", checkout)
    assert reported == _checked(BIN / "leadsman", "digest", "--db", checkout)
    rows = {name: int(count) for name, count, _ in map(str.split, reported.splitlines())}
    assert rows["evictions"] > 0
    assert rows["dead_letters"] == 0


def test_the_page_finds_its_templates_and_questions_in_the_wheel(complete: Environment, tmp_path: Path) -> None:
    complete.run("replay", str(NODE_PRESSURE), "--quiet", "--db", f"chdb://{tmp_path}/db")
    complete.run("report", "--output", f"{tmp_path}/report.html", "--db", f"chdb://{tmp_path}/db")
    assert "hog-775668d95b-wcnzb" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("command", ["up", "watch", "work", "land", "alert", "capture", "serve", "backtest"])
def test_without_extras_the_live_commands_are_there(bare: Environment, command: str) -> None:
    assert f"leadsman {command}" in bare.run(command, "--help")


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("agent", "--node", "n", "--once"), "agent"),
        (("replay", str(NODE_PRESSURE), "--db", "chdb://nowhere"), "embedded"),
        (("migrate", "--db", "chdb://nowhere"), "embedded"),
    ],
)
def test_a_command_whose_extra_is_missing_names_it_in_one_sentence(
    bare: Environment, arguments: tuple[str, ...], extra: str
) -> None:
    reported = bare.run(*arguments, status=WRONG_USAGE)
    assert f"pipx install --force '.[{extra}]'" in reported
    assert reported.count("\n") == 1
    assert not (bare.folder / "nowhere").exists()


def _checked(*command: object) -> str:
    done = subprocess.run([str(each) for each in command], check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout
