"""`docs/commands.md`: the help of every command, as a terminal of 80 columns shows it."""

import io
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout, suppress
from typing import Final
from unittest.mock import patch

from leadsman.__main__ import main
from leadsman.cli.main import SECTIONS

_HEAD: Final = """# Commands

Written by `make generate` from the commands' own help; do not edit.
"""


def commands() -> str:
    """The whole page."""
    tables = [f"## {heading}\n\n{_table(lines)}\n" for heading, lines in SECTIONS.items()]
    names = [name for lines in SECTIONS.values() for name in lines]
    parts = [f"## leadsman {name}\n\n```text\n{_help(name)}```\n" for name in names]
    return "\n".join([_HEAD, *tables, f"## All commands\n\n```text\n{_help()}```\n", *parts])


def _table(lines: Mapping[str, str]) -> str:
    rows = [f"| [`leadsman {name}`](#leadsman-{name}) | {line} |" for name, line in lines.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def _help(*command: str) -> str:
    """What `leadsman [COMMAND] --help` prints."""
    shown = io.StringIO()
    with (
        patch.dict(os.environ, {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}),
        patch.object(sys, "argv", ["leadsman", *command, "--help"]),
        patch.object(sys.modules["__main__"], "__package__", None),  # or click names the program after it
        redirect_stdout(shown),
        suppress(SystemExit),
    ):
        main()
    return "\n".join(line.rstrip() for line in shown.getvalue().strip().splitlines()) + "\n"
