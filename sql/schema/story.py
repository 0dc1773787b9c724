"""Builds the view `story` from only those branches that can have lines, because planning a branch is slow."""

import re
from collections.abc import Collection
from functools import cache
from typing import Final

from sql.database.open import Database
from sql.schema.statements import gives_nothing, statements

_WITH: Final = "\nWITH\n"
_SELECT: Final = "\nSELECT cluster, ts, node, kind, what, about, pod, namespaces\nFROM\n(\n"
_BETWEEN: Final = "\n    UNION ALL\n"
"""Separator of branches in the view's file; one within a branch is indented further."""
_END: Final = "\n)\nCOMMENT"
_KIND: Final = re.compile(r"'(\w+)' AS kind\b")
_SHARED: Final = re.compile(r"\bevidence\)|\bFROM seen\b")
"""Uses of the definitions that several branches of the view share; `seen` is also a word of a sentence."""


def story(db: Database, without: Collection[str] = ()) -> str:
    """Return a query to use instead of the view, without lines of these kinds; empty if no table has rows for it."""
    shared, branches = _parts()
    empty = db.noting_empty_tables().empty_tables

    def can_have_lines(branch: str) -> bool:
        read = shared + branch if _SHARED.search(branch) else branch
        return not set(_KIND.findall(branch)) & set(without) and not gives_nothing(read, empty)

    text = _BETWEEN.join(filter(can_have_lines, branches))
    return f"({shared if _SHARED.search(text) else ''}{_SELECT}{text}\n))" if text else ""


@cache
def _parts() -> tuple[str, list[str]]:
    text = re.sub(r"^ *--[^\n]*\n", "", statements()["story"], flags=re.MULTILINE)
    head, _, rest = text.partition(_SELECT)
    return head[head.index(_WITH) :], rest[: rest.rindex(_END)].split(_BETWEEN)
