"""Every table, feed and view: the statement that makes it, and what it rests on."""

import re
from collections.abc import Collection, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from sql.database.open import Database, Result
from sql.schema.migrate import load_migrations
from sql.schema.views import load_views

_NAMED: Final = re.compile(r"--[^\n]*|'(?:[^'\\]|\\.)*'|\b(?:FROM|JOIN|INTO|TABLE|TO)\s+(\w+)")
_MADE: Final = re.compile(r"CREATE (TABLE|MATERIALIZED VIEW) IF NOT EXISTS (\w+)")


@cache
def statements() -> Mapping[str, str]:
    """Return the statements by the name of what they make where it is missing."""
    found: dict[str, str] = {}
    for statement in (text for migration in load_migrations() for text in migration.statements):
        made = _MADE.match(statement)
        if made is not None:
            found[made.group(2)] = statement
    return MappingProxyType(found | {view.name: view.first for view in load_views()})


@cache
def tables() -> frozenset[str]:
    return frozenset(name for name, text in statements().items() if text.startswith("CREATE TABLE"))


def named(sql: str) -> set[str]:
    """Return the tables and views that a statement names."""
    return {found.group(1) for found in _NAMED.finditer(sql)} & statements().keys()


@cache
def rests_on(name: str) -> frozenset[str]:
    """Return what a table, feed or view needs to be there, without itself."""
    needed = frozenset[str]() if name in tables() else frozenset(named(statements()[name]) - {name})
    return needed.union(*map(rests_on, needed))


@cache
def feeds_of(table: str) -> Collection[str]:
    """Return the feeds of roll-ups that an insert into a table runs."""
    feeds = [name for name in statements() if name.endswith("_feed")]
    return [name for name in feeds if table in rests_on(name) and table != name.removesuffix("_feed")]


def reads_only(sql: str, empty: Collection[str]) -> bool:
    """Tell whether a query reads tables, and each of them is one of these."""
    read = named(sql) if empty else set()
    return bool(read) and not tables() & read.union(*map(rests_on, read)) - set(empty)


def asked(db: Database, sql: str, parameters: Mapping[str, Any] | None = None) -> Result:
    """Ask, and return the rows, of which an empty answer may lack the names: nothing is planned where every table of
    the query is known to be empty. Raises DatabaseError.
    """
    if reads_only(sql, db.empty):
        return Result((), (), [])
    return db.query(sql, parameters, described=False)
