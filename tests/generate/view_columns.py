"""`sql/schema/views/columns.json`: type and meaning of each column of a view, as the engine infers the types.

A column has the comment of the column of the same name in what the view reads, unless the view's file has its own
in a line `-- column NAME: MEANING`.
"""

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from sql.database.open import Database, connect
from sql.database.replicated import quoted
from sql.schema.migrate import load_migrations
from sql.schema.views import View, load_views

_COLUMN: Final = re.compile(r"^-- column (?P<name>\w+): (?P<meaning>.+)$", re.MULTILINE)
_SOURCE: Final = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)")
_NAME: Final = re.compile(r"CREATE OR REPLACE VIEW (\w+)")
_STATE: Final = re.compile(r" \(a state: read it in the view \w+\)")
"""A roll-up's note on a state; in the view it is a value."""
_COLUMNS: Final = """
SELECT table, name, type, comment FROM system.columns WHERE database = currentDatabase() ORDER BY table, position
"""
Comments = dict[str, dict[str, str]]
"""Comments by table and column."""


class ViewFile(NamedTuple):
    name: str
    own: Mapping[str, str]
    """Meanings by column, from its file."""
    sources: Sequence[str]
    """Tables that it reads, in the order of its text."""


def view_columns() -> str:
    """The whole text."""
    views = load_views()
    with tempfile.TemporaryDirectory() as folder, connect(f"chdb://{folder}/db") as db:
        types, known = _inferred(db, views)
    found: dict[str, list[str]] = {}
    for view in views:
        file = parsed(view.text)
        known[view.name] = {column: _meaning(file, column, known) for column in types[view.name]}
        found[view.name] = [
            f"{quoted(column)} {kind} COMMENT {_text(known[view.name][column])}"
            for column, kind in types[view.name].items()
        ]
    return json.dumps(found, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def parsed(statement: str) -> ViewFile:
    """A view's file."""
    name = _NAME.search(statement)
    if name is None:
        raise ValueError(f"no view is made by: {statement[:60]}")
    own = {found["name"]: found["meaning"] for found in _COLUMN.finditer(statement)}
    return ViewFile(name[1], own, tuple(dict.fromkeys(_SOURCE.findall(statement))))


def _inferred(db: Database, views: Sequence[View]) -> tuple[dict[str, dict[str, str]], Comments]:
    """Types by table and column, and comments of tables."""
    tables = [statement for migration in load_migrations() for statement in migration.statements]
    for statement in (*tables, *(view.text for view in views)):
        db.define(statement)
    types: dict[str, dict[str, str]] = {}
    comments: Comments = {}
    for table, column, kind, comment in db.query(_COLUMNS).rows:
        types.setdefault(table, {})[column] = kind
        comments.setdefault(table, {})[column] = comment
    return types, comments


def _meaning(view: ViewFile, column: str, known: Mapping[str, Mapping[str, str]]) -> str:
    if column in view.own:
        return view.own[column]
    found = next((known[source][column] for source in view.sources if known.get(source, {}).get(column)), "")
    return _STATE.sub("", found)


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
