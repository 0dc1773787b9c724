"""The questions of the page: one file each in `queries/`, their parameters bound and never put into the text."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from leadsman.web.reading.scope import Scope
from sql.database.open import Database

QUERIES: Final = Path(__file__).parent / "queries"

RowDict: TypeAlias = dict[str, Any]
"""A row by column name."""


@cache
def question(name: str) -> str:
    return (QUERIES / f"{name}.sql").read_text("utf-8")


def ask(db: Database, name: str, scope: Scope, **more: Any) -> list[RowDict]:
    """The rows of a question about a scope. Raises DatabaseError."""
    return rows(db, name, {**scope.parameters(), **more})


def rows(db: Database, name: str, parameters: Mapping[str, Any]) -> list[RowDict]:
    """The rows of any question. Raises DatabaseError."""
    found = db.query(question(name), parameters, described=False)
    return [dict(zip(found.column_names, each, strict=True)) for each in found.rows]


def has_table(db: Database, table: str) -> bool:
    """Tell whether there is such a table or view."""
    sql = "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = {table:String}"
    return bool(db.query(sql, {"table": table}).rows[0][0])
