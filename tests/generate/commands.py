"""`docs/commands.md`: the help of every command, as a terminal of 80 columns shows it."""

import io
import os
import re
import sys
from contextlib import redirect_stdout, suppress
from typing import Final
from unittest.mock import patch

from leadsman.__main__ import main

_COMMAND: Final = re.compile(r"^  ([a-z][a-z-]*) {2,}(\S.*)$", re.MULTILINE)
"""A command and what it does, in any section of the help of all."""
_HEAD: Final = """# Commands

Written by `make generate` from the commands' own help; do not edit.
"""


def commands() -> str:
    """The whole page."""
    top = _help()
    found = _COMMAND.findall(top)
    rows = [f"| [`leadsman {name}`](#leadsman-{name}) | {summary} |" for name, summary in found]
    parts = [f"## leadsman {name}\n\n```text\n{_help(name)}```\n" for name, _ in found]
    table = "\n".join(["| command | what it does |", "|---|---|", *rows])
    return "\n".join([_HEAD, f"{table}\n", f"## All commands\n\n```text\n{top}```\n", *parts])


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
