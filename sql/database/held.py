"""Queries an embedded database that another process has open, through the socket beside it."""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

from common.private import FILE
from sql.database.dsn import Embedded, Target, parse_dsn
from sql.database.errors import DatabaseError, DatabaseHeld
from sql.database.open import Database, Translated, connect

if TYPE_CHECKING:  # each takes longer to import than a query
    from clickhouse_connect.driver.client import Client
    from urllib3 import PoolManager

HOST: Final = "holder"
FIRST_SECONDS: Final = 10.0
"""Time for a process to accept a connection; it may be stopped or busy."""
ANSWER_SECONDS: Final = 120.0
PING: Final = "/ping"
OK: Final = 200
NO_SUCH: Final = 404


class SocketDatabase(Database):
    """A read-only database that another process of this user has open."""

    def __init__(self, target: Embedded, client: "Client", translated: Translated, pool: "PoolManager") -> None:
        super().__init__(client, target, translated)
        self.is_here = False
        self._embedded = target
        self._pool = pool

    def another(self) -> Database:
        return reach(self._embedded, DatabaseHeld(f"{self}: the process that held it has ended"))

    def post(self, path: str, body: bytes) -> bytes:
        """Return the answer of the holding process to a request other than a statement. Raises DatabaseError."""
        from urllib3.exceptions import HTTPError  # noqa: PLC0415 - as above

        try:
            answer = self._pool.request(
                "POST", f"http://{HOST}{path}", body=body, timeout=ANSWER_SECONDS, retries=False
            )
        except HTTPError:
            raise DatabaseError(f"{self}: the process that holds it gave no answer. Try again") from None
        if answer.status == NO_SUCH:
            raise DatabaseError(
                f"{self}: the process that holds it (leadsman serve or mcp) can only read. Stop it first"
            )
        if answer.status != OK:
            raise DatabaseError(
                f"{self}: the process that holds it did not understand: check that both have one version"
            )
        return answer.data

    def close(self) -> None:
        self._client.close()
        self._pool.clear()


def reach(target: Target, held: DatabaseHeld) -> SocketDatabase:
    """Open the database through the process that holds it. Raises `held` if that process does not answer."""
    if not isinstance(target, Embedded):
        raise held
    import clickhouse_connect  # noqa: PLC0415 - as above
    from clickhouse_connect.driver.exceptions import ClickHouseError  # noqa: PLC0415
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    from sql.database.client import translated  # noqa: PLC0415

    pool = _pool(target)
    try:
        pool.request("GET", f"http://{HOST}{PING}", timeout=FIRST_SECONDS, retries=False)
    except HTTPError:
        raise held from None
    try:
        client = clickhouse_connect.get_client(
            interface="http",
            host=HOST,
            database=target.database,
            compress=False,
            query_retries=0,
            send_receive_timeout=int(ANSWER_SECONDS),
            autogenerate_session_id=False,
            form_encode_query_params=True,
            tz_mode="aware",
            pool_mgr=pool,
        )
    except ClickHouseError as error:
        raise translated(target, "the process that holds the database", error) or held from None
    return SocketDatabase(target, client, translated, pool)


def connect_to_read(dsn: str) -> Database:
    """Open a database to read, if necessary through the process that holds it. Raises as `connect` does."""
    try:
        return connect(dsn, make=False, read_only=True)
    except DatabaseHeld as held:
        return reach(parse_dsn(dsn), held)


def _pool(target: Embedded) -> "PoolManager":
    from urllib3 import HTTPConnectionPool, PoolManager  # noqa: PLC0415 - as above
    from urllib3.connection import HTTPConnection  # noqa: PLC0415
    from urllib3.exceptions import NewConnectionError  # noqa: PLC0415

    class Connection(HTTPConnection):
        def connect(self) -> None:
            timeout = self.timeout if isinstance(self.timeout, int | float) else None
            try:
                self.sock = connected(target.folder, timeout)
            except OSError as error:
                raise NewConnectionError(self, str(error)) from None

    class Pool(HTTPConnectionPool):
        ConnectionCls = Connection

    pool = PoolManager()
    pool.pool_classes_by_scheme = {"http": Pool}
    return pool


SOCKET: Final = "holder.sock"
_BACKLOG: Final = 64
_FULL_SECONDS: Final = 0.05
"""Seconds between two attempts to connect."""
_CREDENTIALS: Final = struct.Struct("3i")
"""Linux' ucred: process, user, group."""
_ROOT: Final = 0


def listening(folder: Path) -> socket.socket:
    """Open a listening socket in the folder that only its owner can use. Raises OSError.

    One left by a killed process is replaced, because the caller holds the database.
    """
    listener = socket.socket(socket.AF_UNIX)
    try:
        os.fchmod(listener.fileno(), FILE)  # the new file's mode, not that of a link put there
        with _near(folder) as path:
            path.unlink(missing_ok=True)
            listener.bind(str(path))
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def remove(folder: Path) -> None:
    """Remove the socket's file."""
    (folder / SOCKET).unlink(missing_ok=True)


def connected(folder: Path, timeout: float | None) -> socket.socket:
    """Connect to the process that holds the folder's database. Raises OSError, also if another user answers."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(timeout)
        with _near(folder) as path:
            _connect(connection, str(path), timeout)
    except BaseException:
        connection.close()
        raise
    if is_trusted(connection.fileno(), folder.stat().st_uid):
        return connection
    connection.close()
    raise PermissionError(1, "another user's process answers there")


def _connect(connection: socket.socket, path: str, timeout: float | None) -> None:
    """Connect within the timeout.

    Linux ignores it for these sockets, and refuses at once if too many connections wait.
    """
    until = monotonic() + (timeout or 0.0)
    while True:
        try:
            return connection.connect(path)
        except BlockingIOError:
            if monotonic() > until:
                raise
            sleep(_FULL_SECONDS)


def is_trusted(connection: int, owner: int) -> bool:
    """Tell whether the process at the other end of this descriptor is this user's, `owner`'s or root's."""
    with socket.fromfd(connection, socket.AF_UNIX, socket.SOCK_STREAM) as same:
        found = same.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return _CREDENTIALS.unpack(found)[1] in {os.geteuid(), owner, _ROOT}


@contextmanager
def _near(folder: Path) -> Iterator[Path]:
    """Return the address of the socket relative to the open folder, because its full path may be too long."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield Path(f"/proc/self/fd/{number}") / SOCKET
    finally:
        os.close(number)
