"""What each column of a view means, in the database.

A column has the comment of the column of the same name in what the view reads, unless the view's file has its own
in a line `-- column NAME: MEANING`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from sql.database.open import Database
from sql.database.quoting import quoted

_COLUMN: Final = re.compile(r"^-- column (?P<name>\w+): (?P<meaning>.+)$", re.MULTILINE)
_SOURCE: Final = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)")
_NAME: Final = re.compile(r"CREATE OR REPLACE VIEW (\w+)")
_STATE: Final = re.compile(r" \(a state: read it in the view \w+\)")
"""A roll-up's note on a state; in the view it is a value."""
_COLUMNS: Final = """
SELECT table, name, comment FROM system.columns WHERE database = currentDatabase() ORDER BY table, position
"""


class View(NamedTuple):
    name: str
    own: Mapping[str, str]
    """Meanings by column, from its file."""
    sources: Sequence[str]
    """What it reads, in the order of its text."""


def comment_views(db: Database, statements: Sequence[str]) -> None:
    """Gives the columns of each view, in this order, the comments that they lack. Raises DatabaseError."""
    known: dict[str, dict[str, str]] = {}
    for table, column, comment in db.query(_COLUMNS).rows:
        known.setdefault(table, {})[column] = comment
    for statement in statements:
        view = parsed(statement)
        meanings = {column: _meaning(view, column, known) for column in known[view.name]}
        wanted = {column: text for column, text in meanings.items() if text and text != known[view.name][column]}
        if wanted:
            parts = ", ".join(f"COMMENT COLUMN {quoted(column)} {_text(text)}" for column, text in wanted.items())
            db.define(f"ALTER TABLE {view.name} {parts}")
        known[view.name] = meanings


def parsed(statement: str) -> View:
    """A view's file."""
    name = _NAME.search(statement)
    if name is None:
        raise ValueError(f"no view is made by: {statement[:60]}")
    own = {found["name"]: found["meaning"] for found in _COLUMN.finditer(statement)}
    return View(name[1], own, tuple(dict.fromkeys(_SOURCE.findall(statement))))


def _meaning(view: View, column: str, known: Mapping[str, Mapping[str, str]]) -> str:
    if column in view.own:
        return view.own[column]
    found = next((known[source][column] for source in view.sources if known.get(source, {}).get(column)), "")
    return _STATE.sub("", found)


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
