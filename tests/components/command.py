"""The `leadsman` command as a user types it: a process of its own, or where that makes no difference, in this one.

Starting Python, importing the engine and ending take more than most commands.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from components.database import KEPT
from components.parts import LEADSMAN, Part
from leadsman.cli import console
from leadsman.cli.main import app
from sql.database.open import connect

COMMAND: Final = str(Path(sys.executable).with_name("leadsman"))
ENVIRONMENT: Final = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "TZ": "UTC"}
"""Without colours, at one width and in one zone, whoever runs the tests."""
IN_THIS_PROCESS: Final = frozenset(
    {
        "backtest",
        "config",
        "digest",
        "fit",
        "inspect",
        "migrate",
        "query",
        "replay",
        "report",
        "silence",
        "simulate-drain",
        "simulate-scheduler",
    }
)
"""Commands that answer and end: they start no loop, take no signal and set up no log."""
PROGRESS: Final = re.compile(r"^read(?:ing| [0-9.]+ (?:of [0-9.]+ )?MiB.*)\n", re.MULTILINE)
"""Progress output of a read that lasts ten seconds, on a loaded machine also of a small file."""
TIMEOUT_SECONDS: Final = 300


class Done(subprocess.CompletedProcess[str]):
    """A command that ended: its exit status, and what it said, without progress."""


def leadsman(*arguments: object, db: Path | str | None = None, cwd: Path | None = None) -> Done:
    """Run the command to its end. `db` is the folder of an embedded database, or a DSN."""
    words = [*map(str, arguments)]
    here = _looks_at_files(words, cwd or Path()) if words[0] == "look" else words[0] in IN_THIS_PROCESS
    here = here and "--into=kafka" not in words
    return _called(words, db, cwd) if here else in_a_process(*words, db=db, cwd=cwd)


def in_a_process(*arguments: object, db: Path | str | None = None, cwd: Path | None = None) -> Done:
    """The same, always as a process of its own."""
    KEPT.refuse_unmarked()
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        env=_environment(db),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.args, done.returncode, done.stdout, PROGRESS.sub("", done.stderr))


def _looks_at_files(words: Sequence[str], cwd: Path) -> bool:
    """Tell whether `look` reads files: it follows a cluster in a loop, and so in a process of its own."""
    return any((cwd / word).is_file() for word in words)


def _called(words: list[str], db: Path | str | None, cwd: Path | None) -> Done:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", [COMMAND, *words])
        patched.setattr(console.out, "_width", int(ENVIRONMENT["COLUMNS"]))
        if cwd is not None:
            patched.chdir(cwd)
        done = CliRunner().invoke(app, words, env=_environment(db), catch_exceptions=False)
    return Done([COMMAND, *words], done.exit_code, done.stdout, PROGRESS.sub("", done.stderr))


def _environment(db: Path | str | None) -> dict[str, str]:
    return ENVIRONMENT if db is None else ENVIRONMENT | {"LEADSMAN_DB": dsn(db)}


def start(*arguments: object, db: Path | str) -> "subprocess.Popen[str]":
    """Begin the command, for one that is ended from outside."""
    KEPT.refuse_unmarked()
    with _interruptible():
        return subprocess.Popen(
            [COMMAND, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_environment(db),
            stdin=subprocess.DEVNULL,
        )


def leadsman_process(
    command: str, *arguments: str, folder: Path, name: str = "", environment: Mapping[str, str] | None = None
) -> Part:
    """A command that runs until it is stopped, not started; the log in `folder` has its name, or the command's."""
    KEPT.refuse_unmarked()
    name = name or command
    return Part(name, [LEADSMAN, command, *arguments], folder / f"{name}.log", environment)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let processes that start meanwhile be interrupted, although this run ignores SIGINT, as under `nohup`.

    A process inherits that from its parent.
    """
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, inherited)


def succeeds(*arguments: object, db: Path | str | None = None, cwd: Path | None = None) -> str:
    """Return what the command prints, after exit status 0 and without a complaint."""
    done = leadsman(*arguments, db=db, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def rows(sql: str, db: Path) -> list[tuple[Any, ...]]:
    """Rows of a database that no process has open, read without another process, which takes seconds."""
    with connect(dsn(db), make=False) as database:
        return list(database.query(sql).rows)


def dsn(db: Path | str) -> str:
    return f"chdb://{db}" if isinstance(db, Path) else db
