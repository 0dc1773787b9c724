"""The runbooks: a page of Markdown about each alert, named after it."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = Path(__file__).with_name("runbooks")
_SUMMARY: Final = re.compile(r"^\*\*(.+?)\.?\*\*", re.MULTILINE | re.DOTALL)


class Runbook(NamedTuple):
    name: str
    """The alert's name."""
    summary: str
    """Its first bold sentence, without the full stop."""
    text: str
    """Markdown, below the heading."""


@cache
def runbooks() -> Mapping[str, Runbook]:
    """Return all runbooks by name. Raises ValueError if one does not begin with its name and a bold sentence."""
    return {file.stem: _read(file.stem, file.read_text("utf-8")) for file in sorted(FOLDER.glob("*.md"))}


def _read(name: str, text: str) -> Runbook:
    heading, _, body = text.partition("\n")
    found = _SUMMARY.match(body.lstrip())
    if heading != f"# {name}" or found is None:
        raise ValueError(f"the runbook {name} does not begin with its name and a bold sentence")
    return Runbook(name, " ".join(found[1].split()), body.strip())
