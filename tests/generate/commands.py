"""`docs/commands.md`: the help of every command, as a terminal shows it."""

from collections.abc import Iterator, Mapping
from typing import Final

import click
from click.testing import CliRunner

from leadsman.cli.exits import STATUSES
from leadsman.cli.main import SECTIONS, app

COLUMNS: Final = 80
"""Columns that click leaves free."""
_HEAD: Final = """# Commands

`make generate` writes this page from the commands' own help; do not edit it.
"""


def commands() -> str:
    """The whole page."""
    tables = [f"## {heading}\n\n{_table(lines)}\n" for heading, lines in SECTIONS.items()]
    calls = [call for lines in SECTIONS.values() for name in lines for call in _calls(name)]
    parts = [f"{'#' * (1 + len(call))} leadsman {' '.join(call)}\n\n```text\n{_help(*call)}```\n" for call in calls]
    statuses = "\n".join(f"| {status} | {meaning} |" for status, meaning in STATUSES.items())
    exits = f"## Exit statuses\n\n| status | meaning |\n|---|---|\n{statuses}\n"
    return "\n".join([_HEAD, *tables, exits, f"## All commands\n\n```text\n{_help()}```\n", *parts])


def _calls(name: str) -> Iterator[tuple[str, ...]]:
    """A command, and those below it."""
    yield (name,)
    command = app.get_command(click.Context(app), name)
    if isinstance(command, click.Group):
        yield from ((name, below) for below in command.commands)


def _table(lines: Mapping[str, str]) -> str:
    rows = [f"| [`leadsman {name}`](#leadsman-{name}) | {line} |" for name, line in lines.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def _help(*command: str) -> str:
    """Return the text that `leadsman [COMMAND] --help` prints."""
    shown = CliRunner().invoke(app, [*command, "--help"], terminal_width=COLUMNS - 2, catch_exceptions=False).stdout
    return "\n".join(line.rstrip() for line in shown.strip().splitlines()) + "\n"
