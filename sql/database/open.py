"""Opens a database, embedded or on a server, through clickhouse-connect.

A `Database` belongs to one thread at a time. One process at a time can open an embedded folder, and a process one
folder at a time; several databases (`?database=`) of that folder can be open together.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeAlias, cast
from uuid import uuid4

from common.text import plain
from sql.database import engine
from sql.database.dsn import Embedded, Target, existing, parse_dsn
from sql.database.errors import DatabaseError, QueryCancelled, QueryFailed
from sql.database.replicated import everywhere

KILL: Final = "KILL QUERY WHERE Settings['log_comment'] = {name:String} ASYNC"
ENDS_BY_ITSELF_SECONDS: Final = 0.2
"""Grace period for abandoned queries, until they are killed."""


class Stop:
    """Stops one piece of work. Its queries carry a name, by which the running one can be killed."""

    def __init__(self) -> None:
        self.name = f"leadsman-{uuid4().hex}"
        self._over = Event()

    @property
    def is_set(self) -> bool:
        return self._over.is_set()

    def set(self) -> None:
        """Keep further queries of this work from starting."""
        self._over.set()


async def end(stop: Stop, running: "asyncio.Future[Any]", kill: Callable[[], None]) -> None:
    """Stop the work, and `kill` the query that it waits for, until its thread is done."""
    stop.set()
    await asyncio.wait({running}, timeout=ENDS_BY_ITSELF_SECONDS)
    while not running.done():
        with suppress(DatabaseError):
            await asyncio.to_thread(kill)
        await asyncio.wait({running}, timeout=ENDS_BY_ITSELF_SECONDS)
    if not running.cancelled():
        running.exception()  # otherwise asyncio logs it, because nothing awaits it


if TYPE_CHECKING:  # importing either takes longer than a query
    import pyarrow as pa
    from clickhouse_connect.driver.client import Client

Translated: TypeAlias = Callable[[Target, str, Exception], DatabaseError | None]
"""The type of `sql.database.client.translated`."""

_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_]\w*):[^{}]+\}", re.ASCII)
"""Placeholders as the driver finds them. If there is one, the driver binds natively and leaves the text unchanged."""
_EMPTY: Final = "SELECT name FROM system.tables WHERE database = currentDatabase() AND total_rows = 0"
_HAS: Final = "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = {table:String}"
SELECT: Final = re.compile(r"\s*(--[^\n]*\n\s*)*(SELECT|WITH)\b", re.IGNORECASE)


class Result(NamedTuple):
    """Rows of a query; times are aware UTC, maps dicts, arrays lists."""

    column_names: tuple[str, ...]
    column_types: tuple[str, ...]
    """ClickHouse's type names."""
    rows: Sequence[tuple[Any, ...]]


class RowStream(NamedTuple):
    """A Result whose rows are read on demand."""

    column_names: tuple[str, ...]
    column_types: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


class Database:
    """An open database. Every error is a `DatabaseError`."""

    stop: Stop | None = None
    """Cancels the current work: once it is set, the next query raises QueryCancelled."""

    def __init__(self, client: "Client", target: Target, translated: Translated) -> None:
        self._client = client
        self._target = target
        self._translated = translated
        self.noted_empty: Collection[str] = ()
        self.embedded = isinstance(target, Embedded)
        self.folder = target.folder if isinstance(target, Embedded) else Path()
        """Folder of an embedded database."""
        self.is_here = self.embedded
        """True if the embedded engine runs in this process."""
        self.name = target.database
        self.cluster = "" if isinstance(target, Embedded) else target.cluster
        """ClickHouse cluster whose replicas have the tables."""
        self.sharded = not isinstance(target, Embedded) and target.sharded
        self.holder = target.database if isinstance(target, Embedded) else target.holder
        """The database of the tables that hold the rows."""

    def __str__(self) -> str:
        return str(self._target)

    @property
    def empty_tables(self) -> Collection[str]:
        """Return tables that are known to have no rows; see `noting_empty_tables`."""
        return self.noted_empty

    def noting_empty_tables(self) -> "Database":
        """Return the same database, which remembers the tables that are empty now. Raises DatabaseError.

        A query of only these tables has no rows, and need not be planned, which takes longer than reading.
        """
        if self.empty_tables:
            return self
        noting = copy(self)
        noting.noted_empty = frozenset(row[0] for row in self.query(_EMPTY, described=False).rows)
        return noting

    def has(self, name: str) -> bool:
        """Tell whether there is such a table or view."""
        return name in self.empty_tables or bool(self.query(_HAS, {"table": name}).rows[0][0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def insert(self, table: str, columns: "pa.Table", token: str | None = None) -> None:
        """Append `columns` (with the table's names; `sql.landing.batches` makes them) in one block.

        A second insert with the same `token` within the table's deduplication window changes nothing.
        """
        if not columns.num_rows:
            return
        # looking for equal keys would cost a third of each insert; merges and FINAL do that
        settings = {"final": 0, "optimize_on_insert": 0} | ({"insert_deduplication_token": token} if token else {})
        with self._errors(f"inserting into {table}"):
            try:
                self._client.insert_arrow(table, columns, settings=settings)
            except OSError as error:  # the embedded engine reads inserted rows from a file in TMPDIR
                raise QueryFailed(f"{self}: inserting into {table} failed: {error.strerror}. See TMPDIR") from None

    def command(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Run one statement that returns nothing."""
        with self._errors("a statement"):
            self._client.command(sql, parameters=bound(sql, parameters))

    def may(self, right: str) -> bool:
        """Tell whether the user has a right, such as `ALTER DELETE ON db.*`.

        Raises QueryFailed, also for a server before 24.11.
        """
        with self._errors("a statement"):
            return str(self._client.command(f"CHECK GRANT {right}")).strip() == "1"

    def define(self, sql: str) -> None:
        """Run one CREATE, ALTER or other statement of the schema; on a cluster, on every replica of every shard."""
        for placed in everywhere(sql, self._target):
            self._client.database = placed.database
            try:
                self.command(placed.sql)
            finally:
                self._client.database = self.name

    @contextmanager
    def unsynced(self) -> Iterator[None]:
        """Open a block in which the embedded engine does not wait until definitions are on the disk.

        Use it for definitions that can be recreated after a power loss. A server decides itself.
        """
        if not self.embedded:
            yield
            return
        self.command("SET fsync_metadata = 0")
        try:
            yield
        finally:
            self.command("SET fsync_metadata = 1")

    def query(
        self,
        sql: str,
        parameters: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        *,
        described: bool = True,
    ) -> Result:
        """Return the whole result of one query; placeholders `{name:Type}` are bound from `parameters`.

        If `described`, an empty result has names and types, for which the query may have to be planned again.
        """
        with self._errors("the query"):
            given, settings = bound(sql, parameters), self._with_stop_name(settings)
            try:
                answer = self._client.query(sql, parameters=given, settings=settings)
            except (ValueError, OverflowError, RecursionError) as error:
                raise QueryFailed(
                    f"the answer has a value that Python cannot hold: {plain(error)}. Ask for its toString"
                ) from None
            if not answer.column_names:
                return self._no_rows(sql, parameters, settings) if described else Result((), (), [])
            types = tuple(str(column.name) for column in answer.column_types)
            return Result(tuple(answer.column_names), types, cast("Sequence[tuple[Any, ...]]", answer.result_rows))

    @contextmanager
    def stream(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Iterator[RowStream]:
        """Stream a query in bounded memory. No other call on this database is allowed until the block ends."""
        with (
            self._errors("the query"),
            self._client.query_rows_stream(sql, parameters=bound(sql, parameters)) as rows,
        ):
            if rows.source.column_names:
                types = tuple(str(column.name) for column in rows.source.column_types)
                yield RowStream(tuple(rows.source.column_names), types, map(tuple, rows))
                return
        nothing = self._no_rows(sql, parameters, None)
        yield RowStream(nothing.column_names, nothing.column_types, iter(()))

    def kill(self, stop: Stop) -> None:
        """End the query of `stop` that runs on another connection to the same database, if any."""
        self.command(KILL, {"name": stop.name})

    def connection(self) -> "tuple[Client, Target, Translated]":
        """Return the arguments for another kind of Database on the same connection."""
        return self._client, self._target, self._translated

    def another(self) -> "Database":
        """Open a second, read-only connection to the same database. Raises DatabaseError."""
        return _opened(self._target, read_only=True)

    def close(self) -> None:
        if not self.embedded:
            self._client.close_connections()
        self._client.close()

    def _with_stop_name(self, settings: Mapping[str, Any] | None) -> dict[str, Any]:
        if self.stop is None:
            return dict(settings or {})
        if self.stop.is_set:
            raise QueryCancelled(f"{self}: the query was cancelled because its reader has left")
        return {**(settings or {}), "log_comment": self.stop.name}

    def _no_rows(self, sql: str, parameters: Mapping[str, Any] | None, settings: Mapping[str, Any] | None) -> Result:
        """Return the columns of a query without rows, for which the embedded engine returns no bytes at all."""
        if SELECT.match(sql) is None:
            return Result((), (), [])
        described = self._client.query(
            f"DESCRIBE TABLE (\n{sql.rstrip().rstrip(';')}\n)",
            parameters=bound(sql, parameters),
            settings=self._with_stop_name(
                {name: value for name, value in (settings or {}).items() if name != "limit"}
            ),
        )
        names, types = zip(*(row[:2] for row in described.result_rows), strict=True)
        return Result(names, types, [])

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._drain()
            translated = self._translated(self._target, doing, error)
            if translated is None:
                raise
            raise translated from None

    def _drain(self) -> None:
        """Discard the output of a failed query of the embedded engine; otherwise the next answer begins with it."""
        if self.embedded:
            with suppress(Exception):  # the answer that it would spoil is this one
                self._client.raw_query("SELECT 1")


def preload(dsn: str) -> None:
    """Import the engine of an embedded database, so that any thread may call `connect`. Raises as `connect` does."""
    target = parse_dsn(dsn)
    if isinstance(target, Embedded):
        engine.load(target, read_only=False)


def connect(dsn: str, *, make: bool = True, read_only: bool = False) -> Database:
    """Open the database of a DSN (`sql.database.dsn`); a missing folder or database is created.

    If `make` is false, a missing folder is an error. If `read_only`, nothing is created and the engine refuses
    writes. Raises BadDsn, DatabaseHeld, DatabaseUnreachable, or another DatabaseError.
    """
    target = parse_dsn(dsn) if make else existing(dsn)
    return _opened(target, read_only=read_only)


def _opened(target: Target, *, read_only: bool) -> Database:
    if not isinstance(target, Embedded):
        from sql.database import client  # noqa: PLC0415 - as below

        return Database(client.server(target, read_only=read_only), target, client.translated)
    engine.load(target, read_only=read_only)
    with ThreadPoolExecutor(1) as meanwhile:
        starting = meanwhile.submit(engine.started, target, read_only=read_only)
        from sql.database import client  # noqa: PLC0415 - which takes as long as the engine to start

        with starting.result():
            return Database(client.embedded(target, read_only=read_only), target, client.translated)


def bound(sql: str, parameters: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the parameters that have a placeholder; with others, the driver would format the text with `%`.

    Raises QueryFailed if the statement or a value is not UTF-8, which an argument of a command can be.
    """
    for text in (sql, *(parameters or {}).values()):
        if isinstance(text, str):
            try:
                text.encode()
            except UnicodeEncodeError:
                raise QueryFailed(f"{plain(text)} is not text in UTF-8") from None
    named = set(_PLACEHOLDER.findall(sql)) & (parameters or {}).keys()
    return {name: (parameters or {})[name] for name in named} or None
