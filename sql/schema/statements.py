"""Every table, feed and view: the statement that makes it, what it rests on, and a database made of those named."""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from sql.database.open import Database, Result, RowStream
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


if TYPE_CHECKING:  # importing it takes longer than a query
    import pyarrow as pa


class AsNeeded(Database):
    """A new Database for one answer, whose tables and views are made when a statement first names them.

    Making all takes longer than everything else that a small dump needs. Only this process writes into it, with
    `insert`: it knows which tables are empty.
    """

    def __init__(self, database: Database) -> None:
        """Take over a database that is new."""
        super().__init__(*database.parts())
        self._there = set[str]()
        self._filled = set[str]()
        super().command("SET fsync_metadata = 0")  # nobody needs it after a power loss

    @property
    def empty(self) -> Collection[str]:
        return tables() - self._filled

    def has(self, name: str) -> bool:
        return name in statements()

    def insert(self, table: str, columns: "pa.Table", token: str | None = None) -> None:
        if columns.num_rows:
            feeds = feeds_of(table)
            self._make(table, *feeds)
            self._filled |= {table, *(each.removesuffix("_feed") for each in feeds)}
        super().insert(table, columns, token)

    def command(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None:
        self._make(*named(sql))
        super().command(sql, parameters)

    def query(
        self,
        sql: str,
        parameters: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        *,
        described: bool = True,
    ) -> Result:
        self._make(*named(sql))
        return super().query(sql, parameters, settings, described=described)

    @contextmanager
    def stream(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Iterator[RowStream]:
        self._make(*named(sql))
        with super().stream(sql, parameters) as found:
            yield found

    def _make(self, *names: str) -> None:
        needed = {*names}.union(*map(rests_on, names)) - self._there
        for name in sorted(needed, key=lambda name: len(rests_on(name))):
            super().command(statements()[name])
        self._there |= needed
