"""clickhouse-connect's clients of an engine or a server, and their errors as ours."""

import logging
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import clickhouse_connect
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError, OperationalError
from clickhouse_connect.driver.httputil import get_pool_manager_options
from urllib3 import BaseHTTPResponse, PoolManager
from urllib3.exceptions import HTTPError

from common.errors import FilesUnusable
from common.tls import RotatingContext
from sql.database.dsn import Embedded, Server, Target
from sql.database.engine import NEEDED_BYTES, options
from sql.database.errors import BadDsn, DatabaseError, DatabaseUnreachable, QueryFailed
from sql.database.replicated import everywhere, quoted


class RotatingPool(PoolManager):
    """Rereads files: a new connection trusts the CA's current file, and a request sends the current password.

    An unusable file fails the request, as an unreachable server does.
    """

    def __init__(self, target: Server) -> None:
        """Raises FilesUnusable."""
        options = get_pool_manager_options()
        if target.secure:
            options["ssl_context"] = RotatingContext.of(target.ca_file, None, None)
        super().__init__(**options)
        self._target = target

    def urlopen(  # type: ignore[override]  # as PoolManager's own
        self, method: str, url: str, redirect: bool = True, **options: Any
    ) -> BaseHTTPResponse:
        """Open an address like a PoolManager, but do not follow redirects, because other servers must not get the
        password.
        """
        del redirect
        try:
            login = f"{self._target.user}:".encode() + self._target.password.encode()
            headers = {**options.pop("headers"), "Authorization": f"Basic {b64encode(login).decode()}"}
            return super().urlopen(method, url, redirect=False, headers=headers, **options)
        except FilesUnusable as error:
            raise HTTPError(str(error)) from None


logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())  # its errors are raised, and reported by us

MIB: Final = 1 << 20
SETTINGS: Final[Mapping[str, Any]] = {
    "async_insert": 0,  # an insert that returned is in the table
    "deduplicate_blocks_in_dependent_materialized_views": 1,  # a retry repairs a roll-up that a crash left out
    "do_not_merge_across_partitions_select_final": 1,  # safe: each key has the partition's time
    "final": 1,  # no query ever sees a row and its replacement
    "insert_deduplicate": 1,
    "join_algorithm": "direct,hash",  # a parallel join takes 15 MiB for each join of a view, even for few rows
    "min_free_disk_bytes_to_perform_insert": NEEDED_BYTES,  # on a full disk the server can acknowledge a broken part
    "session_timezone": "UTC",
    "throw_on_max_partitions_per_insert_block": 0,  # the times of events can be wrong
}
EMBEDDED_SETTINGS: Final[Mapping[str, Any]] = {
    "compile_aggregate_expressions": 0,  # compiling takes longer than a query on a database of this size
    "compile_expressions": 0,
    "compile_sort_description": 0,
    "input_format_parallel_parsing": 0,
    "max_bytes_before_external_group_by": 256 * MIB,
    "max_bytes_before_external_sort": 256 * MIB,
    "max_insert_threads": 1,
    "max_memory_usage": 1024 * MIB,
    "max_threads": 2,
    "optimize_use_projections": 0,  # no table has one, and every read of a view would be planned for it
    "query_plan_lift_up_union": 0,  # it copies the steps above a union into each branch: 30 times for `story`
}
READ_ONLY: Final[Mapping[str, Any]] = {"max_execution_time": 60, "readonly": 2}
"""The engine refuses every statement that writes, and a query that never ends.

The embedded engine also has no grant outside the database; a server grants rights to its own users.
"""
REASON: Final = 2000
"""Number of characters of an engine's message that are shown."""
UNTRUSTED: Final = "CERTIFICATE_VERIFY_FAILED"
REFUSED_USER: Final = frozenset({192, 193, 194, 516})


def embedded(target: Embedded, *, read_only: bool) -> Client:
    """Start the engine, and return a client of it. Raises DatabaseError."""
    try:
        client = clickhouse_connect.get_client(
            interface="chdb",
            path=str(target.folder),
            chdb_options=dict(options(read_only=read_only)),
            settings={**SETTINGS, **EMBEDDED_SETTINGS, **(READ_ONLY if read_only else {})},
            tz_mode="aware",
        )
    except ClickHouseError as error:
        raise DatabaseError(f"{target}: the engine cannot be used: {_reason(error, target)}") from None
    return _using(client, target, make=not read_only)


def server(target: Server, *, read_only: bool) -> Client:
    """Return a client of a server. Raises BadDsn, DatabaseUnreachable or DatabaseError."""
    try:
        client = clickhouse_connect.get_client(
            interface="https" if target.secure else "http",
            host=target.host,
            port=target.port,
            username=target.user,
            password=target.password,
            settings={**SETTINGS, **target.settings, **(READ_ONLY if read_only else {})},
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
        if _code(error) in REFUSED_USER:
            raise DatabaseUnreachable(f"{target}: user {target.user!r} or its password was refused") from None
        raise DatabaseUnreachable(
            f"{target}: the server there is not a usable ClickHouse: {_reason(error, target)}"
        ) from None
    return _using(client, target, make=not read_only)


_NARROW: Final = "narrow it, for example to one cluster, one node or a shorter range"
_BEYOND: Final = {
    159: f"exceeded its time limit (TIMEOUT_EXCEEDED): {_NARROW}",
    241: f"exceeded its memory limit (MEMORY_LIMIT_EXCEEDED): {_NARROW}",
}
"""Words for the limit that a statement exceeded, by ClickHouse's error number."""


def translated(target: Target, doing: str, error: Exception) -> DatabaseError | None:
    """Translate an error of a client into ours; None if the database did not raise it."""
    match error:
        case OperationalError():
            return DatabaseUnreachable(f"{target}: {doing} got no answer: {_reason(error, target)}")
        case ClickHouseError():
            code = _code(error)
            why = _BEYOND.get(code or 0) or f"was refused: {_reason(error, target)}"
            where = "" if isinstance(target, Embedded) else f"{target}: "  # readers need no path of the machine
            return QueryFailed(f"{where}{doing} {why}", code)
        case _:
            return None


def _using(client: Client, target: Target, *, make: bool) -> Client:
    """Return the client; close it if its database cannot be used."""
    try:
        _use(client, target, make=make)
    except ClickHouseError as error:
        client.close()
        raise DatabaseError(f"{target}: cannot be used: {_reason(error, target)}") from None
    except BaseException:
        client.close()
        raise
    return client


def _use(client: Client, target: Target, *, make: bool) -> None:
    database = target.database
    known = client.query(
        "SELECT count() FROM system.databases WHERE name = {name:String}", parameters={"name": database}
    )
    if not known.result_rows[0][0]:
        if not make:
            raise DatabaseError(f"{target}: there is no such database yet. Create it: leadsman migrate --db {target}")
        for statement, _ in everywhere(f"CREATE DATABASE IF NOT EXISTS {quoted(database)}", target):
            client.command(statement)
    client.database = database


def _code(error: BaseException) -> int | None:
    code = getattr(error, "code", None)
    return code if isinstance(code, int) else None


def _reason(error: BaseException, target: Target) -> str:
    """Return the engine's own message in one line, without passwords and without Python's words."""
    cause = error.__cause__ if isinstance(error, OperationalError) and error.__cause__ is not None else error
    text = " ".join(str(getattr(cause, "reason", cause)).split())
    text = re.sub(r"^HTTPS?Connection(?:Pool)?\([^)]*\): |\[Errno \d+\] ", "", text)
    for password in _passwords(target):
        text = text.replace(password, "***")
    return text[:REASON]


def _passwords(target: Target) -> Iterator[str]:
    """Yield the server's current password, and the one it had when it was opened."""
    if isinstance(target, Server) and target.password:
        yield str(target.password)
        with suppress(FilesUnusable):
            yield target.password.encode().decode()
