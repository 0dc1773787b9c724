"""Runs the page's queries: one file each in `queries/`. Parameters are bound, never put into the text."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from leadsman.web.reading.scope import Scope
from sql.database.open import Database

QUERIES: Final = Path(__file__).parent / "queries"
OF_NOTHING: Final[Mapping[str, Mapping[str, Any]]] = {
    "evidence": {
        **dict.fromkeys(("sampled_nodes", "events", "log_lines", "attempts", "without_image_gc", "bad"), 0),
        **dict.fromkeys(("last_sample_at", "pods_at", "events_at", "log_at")),
        "watched": [],
        "unread": [],
        "nodes": (0, 0, 0, None),
        "pods": (0, 0),
        "numa": (None, None),
    },
    "node_seen": dict.fromkeys(("before", "after", "deleted_at")),
    "pace": {"pace_seconds": None, "paces": []},
    "unknown": {**dict.fromkeys(("lower_bounds", "withheld", "nodes_with_numa"), 0), "undated_lines": (0, 0)},
}
"""The row of each query that returns one even if every table is empty."""

_STORY: Final = "FROM story\n"
_PART: Final = re.compile(r"^    \(\n.+?\n    \) AS (\w+)", re.MULTILINE | re.DOTALL)
"""A column that is a subquery."""
_BRANCH: Final = re.compile(r"\n +UNION ALL (SELECT [^\n]+ GROUP BY [^\n]+)")
"""A branch of a UNION that has no rows if its table is empty."""
_IF: Final = re.compile(r"^-- if (SELECT [^\n]+)", re.MULTILINE)
"""A small query: if it has no rows, the question has none. Planning a view takes many times as long."""

RowDict: TypeAlias = dict[str, Any]


@cache
def query_text(name: str) -> str:
    """Return the text of a query; `NAME_5m` is NAME over the five-minute roll-up of its table."""
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
    """Return the rows of a query about a scope. Raises DatabaseError."""
    return rows(db, name, {**scope.parameters(), **more})


def rows(db: Database, name: str, parameters: Mapping[str, Any]) -> list[RowDict]:
    """Return the rows of any query; tables that are known to be empty are not queried. Raises DatabaseError."""
    sql, known = query_text(name), RowDict()
    if db.empty_tables:
        from sql.schema.statements import gives_nothing  # noqa: PLC0415 - some commands ask nothing

        nothing = partial(gives_nothing, empty=db.empty_tables)
        if name in OF_NOTHING:
            sql, known = _asked(sql, OF_NOTHING[name], nothing)
        elif nothing(sql):
            return []
        sql = _BRANCH.sub(lambda branch: "" if nothing(branch[1]) else branch[0], sql)
        if _STORY in sql:
            from sql.schema.story import story  # noqa: PLC0415 - as above

            sql = sql.replace(_STORY, f"FROM {story(db)}\n")
    if not sql:
        return [known]
    if (only := _IF.search(sql)) and not db.query(only[1], parameters, described=False).rows:
        return []
    found = db.query(sql, parameters, described=False)
    return [known | dict(zip(found.column_names, each, strict=True)) for each in found.rows]


def _asked(sql: str, of_nothing: Mapping[str, Any], nothing: Callable[[str], bool]) -> tuple[str, RowDict]:
    """Return a query without the columns of empty tables, and the values of those columns; no text if no column is
    left.
    """
    parts = list(_PART.finditer(sql))
    asked = [part for part in parts if not nothing(part[0])]
    if not asked and (parts or nothing(sql)):
        return "", dict(of_nothing)
    if len(asked) == len(parts):
        return sql, {}
    columns = ",\n".join(part[0] for part in asked)
    known = {part[1]: of_nothing[part[1]] for part in parts if part not in asked}
    return f"SELECT\n{columns}{sql[parts[-1].end() :]}", known
