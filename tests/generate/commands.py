"""`docs/commands.md`: the help of every command, as a terminal shows it."""

from collections.abc import Mapping
from typing import Final

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
    names = [name for lines in SECTIONS.values() for name in lines]
    parts = [f"## leadsman {name}\n\n```text\n{_help(name)}```\n" for name in names]
    statuses = "\n".join(f"| {status} | {meaning} |" for status, meaning in STATUSES.items())
    exits = f"## Exit statuses\n\n| status | meaning |\n|---|---|\n{statuses}\n"
    return "\n".join([_HEAD, *tables, exits, f"## All commands\n\n```text\n{_help()}```\n", *parts])


def _table(lines: Mapping[str, str]) -> str:
    rows = [f"| [`leadsman {name}`](#leadsman-{name}) | {line} |" for name, line in lines.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def _help(*command: str) -> str:
    """Return the text that `leadsman [COMMAND] --help` prints."""
    shown = CliRunner().invoke(app, [*command, "--help"], terminal_width=COLUMNS - 2, catch_exceptions=False).stdout
    return "\n".join(line.rstrip() for line in shown.strip().splitlines()) + "\n"
