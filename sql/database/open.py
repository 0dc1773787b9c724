"""One way to a database, embedded or a server, over clickhouse-connect.

A `Database` belongs to one thread at a time. One process at a time can open an embedded folder, and a process one
folder at a time; several databases (`?database=`) of that folder can be open together.
"""

import fcntl
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, cast

import clickhouse_connect
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError, OperationalError

from common.tls import FilesUnusable
from sql.database.dsn import Embedded, Server, Target, parse_dsn
from sql.database.errors import (
    BadDsn,
    DatabaseError,
    DatabaseHeld,
    DatabaseUnreachable,
    EngineMissing,
    QueryFailed,
)
from sql.database.rotating import RotatingPool
from sql.database.without import without

if TYPE_CHECKING:
    import pyarrow as pa  # takes longer than a query: who inserts has imported it

logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())  # its errors are raised, and ours to tell

MIB: Final = 1 << 20
SETTINGS: Final[Mapping[str, Any]] = {
    "async_insert": 0,  # an insert that returned is in the table
    "deduplicate_blocks_in_dependent_materialized_views": 1,  # a retry repairs a roll-up that a crash left out
    "do_not_merge_across_partitions_select_final": 1,  # sound: ts is in every key and makes the partition
    "final": 1,  # no query ever sees a row and its replacement
    "insert_deduplicate": 1,
    "session_timezone": "UTC",
    "throw_on_max_partitions_per_insert_block": 0,  # events may lie about their times
}
EMBEDDED_SETTINGS: Final[Mapping[str, Any]] = {
    "compile_aggregate_expressions": 0,  # compiling takes longer than a query of a database of this size
    "compile_expressions": 0,
    "compile_sort_description": 0,
    "input_format_parallel_parsing": 0,
    "max_bytes_before_external_group_by": 256 * MIB,
    "max_bytes_before_external_sort": 256 * MIB,
    "max_insert_threads": 1,
    "max_memory_usage": 1024 * MIB,
    "max_threads": 2,
}
READ_ONLY: Final[Mapping[str, Any]] = {"max_execution_time": 60, "readonly": 2}
"""The engine refuses every statement that writes, and a query that never ends."""
ENGINE_SETTINGS: Final = Path(__file__).parent / "embedded.xml"
"""Of the embedded engine itself; the mappings above are of a connection."""
ALLOCATOR: Final = "dirty_decay_ms:200,muzzy_decay_ms:0"
"""Of the embedded engine's jemalloc, which by itself keeps what was freed for seconds: 50 to 150 MiB of a replay."""
MAX_REASON: Final = 2000
ENGINE_FILES: Final = frozenset({"status", "metadata", "store"})
"""What an embedded database's folder holds; one without a table has only `tmp`."""
UNTRUSTED: Final = "CERTIFICATE_VERIFY_FAILED"
REFUSED_USER: Final = frozenset({192, 193, 194, 516})

_SELECT: Final = re.compile(r"\s*(--[^\n]*\n\s*)*(SELECT|WITH)\b", re.IGNORECASE)


class Result(NamedTuple):
    """Rows of a query; times are aware UTC, maps dicts, arrays lists."""

    column_names: tuple[str, ...]
    column_types: tuple[str, ...]
    """ClickHouse's type names."""
    rows: Sequence[tuple[Any, ...]]


class RowStream(NamedTuple):
    """As Result, but rows come as they are read."""

    column_names: tuple[str, ...]
    column_types: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


class Database:
    """An open database. Every error is a `DatabaseError`."""

    def __init__(self, client: Client, target: Target) -> None:
        self._client = client
        self._target = target
        self.embedded = isinstance(target, Embedded)
        self.name = target.database

    def __str__(self) -> str:
        return str(self._target)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def insert(self, table: str, columns: "pa.Table", token: str | None = None) -> None:
        """Appends `columns` (names as the table's; `sql.landing.arrow` makes them) in one block.

        A second insert with the same `token` within the table's deduplication window changes nothing.
        """
        if not columns.num_rows:
            return
        # to look for equal keys in each insert would cost a third of it: merges and FINAL do
        settings = {"final": 0, "optimize_on_insert": 0} | ({"insert_deduplication_token": token} if token else {})
        with self._errors(f"inserting into {table}"):
            try:
                self._client.insert_arrow(table, columns, settings=settings)
            except OSError as error:  # the embedded engine reads what is inserted from a file there
                raise QueryFailed(f"{self}: inserting into {table} failed: {error.strerror}. See TMPDIR") from None

    def command(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Runs one statement that returns nothing."""
        with self._errors("a statement"):
            self._client.command(sql, parameters=_bound(sql, parameters))

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Result:
        """The whole result of one query; `{name:Type}` in it are bound from `parameters`."""
        with self._errors("the query"):
            found = self._client.query(sql, parameters=_bound(sql, parameters))
            if not found.column_names:
                return self._no_rows(sql, parameters)
            types = tuple(str(column.name) for column in found.column_types)
            return Result(tuple(found.column_names), types, cast("Sequence[tuple[Any, ...]]", found.result_rows))

    @contextmanager
    def stream(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Iterator[RowStream]:
        """As `query`, in bounded memory; no other call on this database until the block ends."""
        with (
            self._errors("the query"),
            self._client.query_rows_stream(sql, parameters=_bound(sql, parameters)) as found,
        ):
            if found.source.column_names:
                types = tuple(str(column.name) for column in found.source.column_types)
                yield RowStream(tuple(found.source.column_names), types, map(tuple, found))
                return
        nothing = self._no_rows(sql, parameters)
        yield RowStream(nothing.column_names, nothing.column_types, iter(()))

    def close(self) -> None:
        if not self.embedded:
            self._client.close_connections()
        self._client.close()

    def _no_rows(self, sql: str, parameters: Mapping[str, Any] | None) -> Result:
        """The columns of a query that found nothing: the embedded engine answers it with no bytes at all."""
        if _SELECT.match(sql) is None:
            return Result((), (), [])
        described = self._client.query(
            f"DESCRIBE TABLE (\n{sql.rstrip().rstrip(';')}\n)", parameters=_bound(sql, parameters)
        )
        names, types = zip(*(row[:2] for row in described.result_rows), strict=True)
        return Result(names, types, [])

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OperationalError as error:
            raise DatabaseUnreachable(f"{self}: {doing} got no answer: {_reason(error, self._target)}") from None
        except ClickHouseError as error:
            reason = _reason(error, self._target)
            raise QueryFailed(f"{self}: {doing} was refused: {reason}", error_code(error)) from None


def connect(dsn: str, *, make: bool = True, read_only: bool = False) -> Database:
    """Opens the database that a DSN names (`sql.database.dsn`); its folder or database is made where it lacks.

    With `make` false a folder that lacks is an error; with `read_only` nothing is made, and the engine refuses
    whatever writes. Raises BadDsn, DatabaseHeld, DatabaseUnreachable, or another DatabaseError.
    """
    target = parse_dsn(dsn)
    if not make and isinstance(target, Embedded) and not target.folder.is_dir():
        raise DatabaseError(f"{target}: there is no database yet. leadsman replay PATH --db {target} makes one")
    settings = READ_ONLY if read_only else {}
    client = _open_folder(target, settings) if isinstance(target, Embedded) else _open_server(target, settings)
    try:
        _use(client, target, make=not read_only)
    except ClickHouseError as error:
        client.close()
        raise DatabaseError(f"{target}: cannot be used: {_reason(error, target)}") from None
    except BaseException:
        client.close()
        raise
    return Database(client, target)


def _open_folder(target: Embedded, settings: Mapping[str, Any]) -> Client:
    _import_engine(target)
    folder = target.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        content = {entry.name for entry in folder.iterdir()}
    except OSError as error:
        raise DatabaseError(f"{target}: the folder cannot be used: {error.strerror}. Name another folder") from None
    if content and content != {"tmp"} and not content & ENGINE_FILES:
        raise DatabaseError(f"{target}: the folder holds other things and no database. Name a new or empty folder")
    holder = _holder(folder)
    if holder is not None:
        raise DatabaseHeld(
            f"{target}: process {holder} holds this database. Wait for it to end, or use another folder"
        )
    try:
        return clickhouse_connect.get_client(
            interface="chdb",
            path=str(folder),
            chdb_options={"config-file": str(ENGINE_SETTINGS)},
            settings={**SETTINGS, **EMBEDDED_SETTINGS, **settings},
            tz_mode="aware",
        )
    except ClickHouseError as error:
        if "already initialized with path" in str(error):
            raise DatabaseHeld(f"{target}: this process has another database folder open; close that first") from None
        raise DatabaseError(f"{target}: the engine cannot open the folder: {_reason(error, target)}") from None


def _import_engine(target: Embedded) -> None:
    os.environ.setdefault("JE_MALLOC_CONF", ALLOCATOR)
    try:
        with without("pyarrow"):  # only chDB's own Arrow functions need it
            import_module("chdb.state")
    except ImportError:
        raise EngineMissing(
            f"{target}: the embedded engine is not installed: pip install 'leadsman[embedded]', or give a server, "
            "http://user:password@host:8123/leadsman"
        ) from None


def _holder(folder: Path) -> str | None:
    """The number of another process that has the folder open: the engine locks its file `status`."""
    try:
        with (folder / "status").open("rb") as status:
            try:
                fcntl.flock(status, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                words = status.read(200).decode(errors="replace").split()
                pid = words[1] if len(words) > 1 and words[0] == "PID:" else "(unknown)"
                return None if pid == str(os.getpid()) else pid
    except OSError:
        return None  # no such file yet; the engine says what else is wrong
    return None


def _open_server(target: Server, settings: Mapping[str, Any]) -> Client:
    try:
        return clickhouse_connect.get_client(
            interface="https" if target.secure else "http",
            host=target.host,
            port=target.port,
            username=target.user,
            password=target.password,
            settings={**SETTINGS, **settings},
            autogenerate_session_id=False,
            tz_mode="aware",
            pool_mgr=RotatingPool(target) if target.has_files else None,
        )
    except FilesUnusable as error:
        raise BadDsn(f"{target}: {error}") from None
    except OperationalError as error:
        reason = _reason(error, target)
        if UNTRUSTED in reason:
            raise DatabaseUnreachable(
                f"{target}: its certificate is not trusted: {reason}. Name the CA that signed it, ?ca_file=PATH"
            ) from None
        raise DatabaseUnreachable(
            f"{target}: no ClickHouse answers there: {reason}. Check the address, and that it runs"
        ) from None
    except ClickHouseError as error:
        if error_code(error) in REFUSED_USER:
            raise DatabaseUnreachable(f"{target}: user {target.user!r} or its password was refused") from None
        raise DatabaseUnreachable(
            f"{target}: what answers there is no usable ClickHouse: {_reason(error, target)}"
        ) from None


def _use(client: Client, target: Target, *, make: bool) -> None:
    database = target.database
    known = client.query(
        "SELECT count() FROM system.databases WHERE name = {name:String}", parameters={"name": database}
    )
    if not known.result_rows[0][0]:
        if not make:
            raise DatabaseError(f"{target}: there is no such database yet. leadsman migrate makes it")
        client.command(f"CREATE DATABASE IF NOT EXISTS {quoted(database)}")
    client.database = database


def _bound(sql: str, parameters: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Only what the statement names: without a placeholder the driver would put values into the text itself."""
    named = {name: value for name, value in (parameters or {}).items() if re.search(rf"{{\s*{name}\s*:", sql)}
    return named or None


def error_code(error: BaseException) -> int | None:
    """ClickHouse's number of an error, where it has one."""
    code = getattr(error, "code", None)
    return code if isinstance(code, int) else None


def _reason(error: BaseException, target: Target) -> str:
    """The engine's own sentence, in one line, without a password."""
    cause = error.__cause__ if isinstance(error, OperationalError) and error.__cause__ is not None else error
    text = " ".join(str(getattr(cause, "reason", cause)).split())
    for password in _passwords(target):
        text = text.replace(password, "***")
    return text[:MAX_REASON]


def _passwords(target: Target) -> Iterator[str]:
    """Those that the server has, or had when it was opened."""
    if isinstance(target, Server) and target.password:
        yield str(target.password)
        with suppress(FilesUnusable):
            yield target.password.encode().decode()


def quoted(identifier: str) -> str:
    """A name as SQL reads it back unchanged."""
    escaped = identifier.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"
