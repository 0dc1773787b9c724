"""A new database for one answer, whose tables and views are made when a statement first names them.

Making all of them takes longer than everything else that a small dump needs, and half of them are never asked.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sql.database.open import Database, Result, RowStream
from sql.schema.statements import feeds_of, named, rests_on, statements, tables

if TYPE_CHECKING:  # importing it takes longer than a query
    import pyarrow as pa


class AsNeeded(Database):
    """A Database that only this process writes into, with `insert`: it knows which tables are empty."""

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
