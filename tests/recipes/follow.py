"""Follow a page of `docs/recipes/` in a copy of the repository.

A page is read as a person reads it. The last line before a fenced block says where its text goes:

    New file `streams/analytics/node_upgrades.py`:
    At the end of `streams/fold/findings/nodes.py`:
    In `streams/analytics/registry.py`, after `nodes.REDUCER,`:
    In `streams/analytics/registry.py`, before `nodes.REDUCER,`:

`NNNN` in a new file's name is the next number of its folder. Blocks of `sh` are commands for people and are passed
over; any other block without such a line is an error. A block that contains fences is fenced by four backticks.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from generate.__main__ import FILES
from paths import ROOT

_BLOCK: Final = re.compile(
    r"(?P<lead>[^\n]*)\n+(?P<fence>`{3,})(?P<kind>\w*)[^\n]*\n(?P<text>.*?)^(?P=fence)\n", re.MULTILINE | re.DOTALL
)
_NEW: Final = re.compile(r"New file `(?P<path>[^`]+)`:")
_END: Final = re.compile(r"At the end of `(?P<path>[^`]+)`:")
_BESIDE: Final = re.compile(r"In `(?P<path>[^`]+)`, (?P<side>after|before) `(?P<line>[^`]+)`:")
_LISTED: Final = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
_SCENARIO: Final = re.compile(r"(tests/scenarios/[^/]+)/.*")


class Edit(NamedTuple):
    """Text that goes into a file: a new one where `side` is empty, or at its end, or after or before a line."""

    path: str
    text: str
    side: str = ""
    line: str = ""


def edits(page: str) -> Iterator[Edit]:
    """The edits of a page in their order. Raises ValueError for a block that does not say where it goes."""
    for block in _BLOCK.finditer(page):
        lead, text = block["lead"].strip(), block["text"]
        if found := _NEW.fullmatch(lead):
            yield Edit(found["path"], text)
        elif found := _END.fullmatch(lead):
            yield Edit(found["path"], text, "end")
        elif found := _BESIDE.fullmatch(lead):
            yield Edit(found["path"], text, found["side"], found["line"].strip())
        elif block["kind"] != "sh":
            raise ValueError(f"where does the block after {lead!r} go?")


class Copy:
    """The repository with the edits of a page."""

    def __init__(self, page: str, folder: Path) -> None:
        """Raises ValueError if an edit cannot be made: the page no longer fits the repository."""
        self.folder = folder
        text = (ROOT / page).read_text("utf-8")
        made = list(edits(text))
        self.listed = {path.rstrip("/") for path in _LISTED.findall(text)}
        """Return the inputs that the page promises: the first column of its table."""
        self.places = {_SCENARIO.sub(r"\1", edit.path) for edit in made}
        """Return the inputs that it takes, a scenario's folder counting as one."""
        for path in _tracked():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, folder / path)
        _copy_compiled(folder)
        self.edited = {self._apply(edit) for edit in made}
        """Paths of all files that the page creates or changes."""

    def changed(self) -> set[str]:
        """Paths of files that are not as they are in the repository, the generated ones left out."""
        paths = (path.relative_to(self.folder) for path in self.folder.rglob("*") if path.is_file())
        sources = {str(path) for path in paths if not {"__pycache__", ".ruff_cache"} & set(path.parts)}
        return {path for path in sources - FILES.keys() if _differ(self.folder / path, ROOT / path)}

    def run(self, *arguments: str) -> None:
        """Run Python in the copy, with its modules. Raises AssertionError with all that it printed."""
        environment = {**os.environ, "PYTHONPATH": f"{self.folder}{os.pathsep}{self.folder / 'tests'}"}
        ran = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr

    def generate(self) -> None:
        """Write the generated files anew, for tests that read them."""
        self.run("-m", "generate")

    def lint(self) -> None:
        """The edited modules are formatted and pass every rule of the house."""
        modules = sorted(path for path in self.edited if path.endswith(".py"))
        self.run("-m", "ruff", "format", "--check", *modules)
        self.run("-m", "ruff", "check", *modules)

    def test(self, *arguments: str) -> None:
        """Run tests of the copy, at least one."""
        with TemporaryDirectory(prefix="leadsman-recipe-") as own:  # pytest would clean up beside other runs
            options = ("-p", "no:cacheprovider", "-p", "no:randomly", f"--basetemp={own}/tests")
            self.run("-m", "pytest", *options, *arguments)

    def _apply(self, edit: Edit) -> str:
        file = self.folder / edit.path
        if not edit.side:
            file = file.with_name(file.name.replace("NNNN", _next_number(file.parent)))
            if file.exists():
                raise ValueError(f"{edit.path} is there already")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(edit.text, "utf-8")
        else:
            file.write_text(_with(file.read_text("utf-8"), edit), "utf-8")
        return str(file.relative_to(self.folder))


def _tracked() -> list[str]:
    """Return the files that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for path in listed.split("\0") if path and (ROOT / path).is_file()]


def _copy_compiled(folder: Path) -> None:
    """Copy what Python made of the modules: they have kept their time and size, so it is theirs. To compile them all
    takes longer than the tests.
    """
    for caches in [each for each in folder.rglob("*") if each.is_dir()]:
        place = caches.relative_to(folder) / "__pycache__"
        with suppress(FileNotFoundError, shutil.Error):  # none is there, or one went meanwhile
            shutil.copytree(ROOT / place, folder / place, ignore=shutil.ignore_patterns("*.pyc.*"))


def _with(text: str, edit: Edit) -> str:
    if edit.side == "end":
        return text + ("\n\n" if edit.path.endswith(".py") else "") + edit.text
    lines = text.splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if line.strip() == edit.line]
    if len(places) != 1:
        raise ValueError(f"{edit.path} has the line {edit.line!r} {len(places)} times")
    place = places[0] + (edit.side == "after")
    return "".join([*lines[:place], edit.text, *lines[place:]])


def _next_number(folder: Path) -> str:
    return f"{len(list(folder.glob('[0-9]*'))) + 1:04d}"


def _differ(one: Path, other: Path) -> bool:
    return not other.is_file() or one.read_bytes() != other.read_bytes()
