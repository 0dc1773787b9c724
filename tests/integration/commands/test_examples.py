"""Every example of every help text runs on what `make demo` makes, or is at least parsed as a user types it."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

from components.command import COMMAND, ENVIRONMENT, leadsman, succeeds
from leadsman.cli.main import app
from paths import EXAMPLES

CONTEXT: Final = click.Context(app, **app.context_settings)
LIVE: Final = frozenset(
    {
        *("up", "capture", "serve", "mcp", "validate", "doctor", "migrate", "completion"),
        *("watch", "work", "land", "alert", "agent"),
    }
)
"""They need a cluster, Kafka, a server or a port, or write into the reader's shell."""
OWN: Final = re.compile(r"kubectl|ours\.yaml|ops\.json|chdb://one|--context|leadsman look$|silence expire")
"""Values that only the reader has: a cluster, or files."""
SHELL: Final = frozenset("|&;<>()$`\\\"'*?[#~=%!{}")
"""Characters that mean something to it: words without are given to the command as they stand."""
PROGRESS: Final = re.compile(r"read [\d.]+ of ")
"""Time for commands that take seconds on a busy machine."""


def _commands() -> Iterator[tuple[click.Command, tuple[str, ...]]]:
    for name in app.list_commands(CONTEXT):
        command = app.get_command(CONTEXT, name)
        assert command is not None
        yield command, (name,)
        if isinstance(command, click.Group):
            yield from ((below, (name, each)) for each, below in command.commands.items())


def _examples_of(command: click.Command) -> list[str]:
    return [each.strip() for each in (command.epilog or "").splitlines()[2:]]


def _examples() -> list[str]:
    found = []
    for command, _ in _commands():
        assert command.epilog or isinstance(command, click.Group), f"{command.name} has no example"
        found += _examples_of(command)
    return found


ALL: Final = _examples()
RUN: Final = [each for each in ALL if not OWN.search(each) and not LIVE & set(each.split()[:2])]


@pytest.mark.parametrize("command", [command for command, _ in _commands()], ids=lambda command: str(command.name))
def test_the_help_has_each_example_whole_on_a_line(command: click.Command) -> None:
    """Wrapped, it cannot be copied."""
    lines = command.get_help(click.Context(command, parent=CONTEXT, terminal_width=80)).splitlines()
    assert set(_examples_of(command)) <= {line.strip() for line in lines}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, demo_folder: Path) -> Path:
    """A checkout after `make demo`, as far as the examples see it."""
    made = tmp_path_factory.mktemp("examples")
    (made / "examples").symlink_to(EXAMPLES)
    (made / "leadsman.yaml").write_text(succeeds("config", "init", "-"))
    shutil.copytree(demo_folder, made / "leadsman-db", symlinks=True)
    return made


def in_the_shell(example: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    path = f"{Path(COMMAND).parent}{os.pathsep}{ENVIRONMENT['PATH']}"
    return subprocess.run(
        ["bash", "-c", example],  # noqa: S607 - the reader's shell
        cwd=folder,
        env=ENVIRONMENT | {"PATH": path, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("example", RUN)
def test_an_example_runs_on_the_demo(example: str, folder: Path, tmp_path: Path) -> None:
    for each in folder.iterdir():
        if each.suffix != ".yaml" or each.name in example:
            (tmp_path / each.name).symlink_to(each)
    done = in_the_shell(example, tmp_path) if SHELL & set(example) else leadsman(*example.split()[1:], cwd=tmp_path)
    complaints = [line for line in done.stderr.splitlines() if not PROGRESS.match(line)]
    assert (done.returncode, complaints) == (0, [])
    assert done.stdout


def test_nearly_every_command_that_needs_no_cluster_has_an_example_that_runs() -> None:
    run = {each.split()[1] for each in RUN}
    assert run == set(app.list_commands(CONTEXT)) - LIVE


@pytest.fixture
def readers_folder(tmp_path: Path) -> Path:
    """All that the examples name, for it is looked at while a command line is parsed."""
    (tmp_path / "examples").symlink_to(EXAMPLES)
    (tmp_path / ".kube").mkdir()
    for file in ("leadsman.yaml", "ours.yaml", "stricter.yaml", "token", ".kube/config"):
        (tmp_path / file).touch()
    for database in ("leadsman-db", "one", "two"):
        (tmp_path / database).mkdir()
    (tmp_path / "incident").mkdir()
    (tmp_path / "incident" / "observations.jsonl").write_text("{}\n")
    return tmp_path


@pytest.mark.parametrize("example", ALL)
def test_the_parser_takes_an_example(example: str, readers_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_NAME", "node-1")  # as a DaemonSet has it
    monkeypatch.setenv("HOME", str(readers_folder))
    monkeypatch.chdir(readers_folder)
    calls = [call for call in _calls(example) if call[:1] == ["leadsman"]]
    assert calls
    for _, name, *arguments in calls:
        command = app.get_command(CONTEXT, name)
        assert command is not None
        with command.make_context(name, arguments, parent=CONTEXT):
            """It closes the files that it opened."""


def _calls(line: str) -> list[list[str]]:
    """The words of each program in a line of the shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    calls: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set("|<>();&"):
            calls.append([])
        else:
            calls[-1].append(word)
    return calls
