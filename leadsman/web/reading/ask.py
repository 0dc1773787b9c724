"""The questions of the page: one file each in `queries/`, their parameters bound and never put into the text."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from leadsman.web.reading.scope import Scope
from sql.database.open import Database

QUERIES: Final = Path(__file__).parent / "queries"
OF_NOTHING: Final = frozenset({"evidence", "node_seen", "pace", "unknown"})
"""Questions with a row even where every table is empty."""

_STORY: Final = "FROM story\n"

RowDict: TypeAlias = dict[str, Any]


@cache
def query_text(name: str) -> str:
    """Return the text of a question; `NAME_5m` is NAME over the five-minute roll-up of its table."""
    from sql.schema.views import with_rules  # noqa: PLC0415 - some commands ask nothing

    text = with_rules((QUERIES / f"{name.removesuffix('_5m')}.sql").read_text("utf-8"))
    if not name.endswith("_5m"):
        return text
    text = re.sub(r"\b(min|max)\((\w+)\)", r"\1(\2_\1)", re.sub(r"(FROM \w+)\n", r"\1_5m\n", text))
    return text.replace(
        "ts >= {since:DateTime64(6)}", "ts >= toStartOfInterval({since:DateTime64(6)}, toIntervalMinute(5))"
    )


def by_node(rows: Iterable[RowDict]) -> dict[str, list[RowDict]]:
    grouped: dict[str, list[RowDict]] = {}
    for row in rows:
        grouped.setdefault(row["node"], []).append(row)
    return grouped


def ask(db: Database, name: str, scope: Scope, **more: Any) -> list[RowDict]:
    """The rows of a question about a scope. Raises DatabaseError."""
    return rows(db, name, {**scope.parameters(), **more})


def rows(db: Database, name: str, parameters: Mapping[str, Any]) -> list[RowDict]:
    """The rows of any question; none is asked of tables that are known to be empty. Raises DatabaseError."""
    sql = query_text(name)
    if db.empty_tables and name not in OF_NOTHING:
        from sql.schema.statements import gives_nothing  # noqa: PLC0415 - some commands ask nothing

        if gives_nothing(sql, db.empty_tables):
            return []
        if _STORY in sql:
            from sql.schema.story import story  # noqa: PLC0415 - as above

            sql = sql.replace(_STORY, f"FROM {story(db)}\n")
    found = db.query(sql, parameters, described=False)
    return [dict(zip(found.column_names, each, strict=True)) for each in found.rows]
