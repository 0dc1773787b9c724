"""Silences while a part runs: read from the database again and again, and changed by `leadsman silence`.

They are in the database, and on no topic: people make a few a week, the page and the story show them, and `up` has no
Kafka. Alerts do not depend on it: where it cannot be read, those that were read last hold until they end, and nothing
more is silenced. An embedded database belongs to one process; there that process answers `leadsman silence`, at a
socket in the database's folder that only its owner may use.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import structlog

from common.clock import SYSTEM, Clock
from common.private import FILE
from common.tasks import in_thread
from common.telemetry import registered
from sql.database.dsn import Embedded, parse_dsn
from sql.database.errors import DatabaseError, DatabaseHeld
from sql.database.open import Database, connect
from sql.landing.silences import List, Request, answer
from sql.schema.migrate import check_migrated
from streams.alerting.silences import BadSilence, Silence

READ_SECONDS: Final = 10.0
SOCKET: Final = "silences.sock"
_LONGEST: Final = 1 << 20
"""Bytes of a request or an answer."""
_ANSWER_SECONDS: Final = 30.0
log = structlog.get_logger(__name__)


class _Answer(msgspec.Struct):
    silences: Sequence[Silence] = ()
    error: str = ""


class Silences:
    """The silences that are known now."""

    def __init__(self, open_database: Callable[[], Database], clock: Clock = SYSTEM) -> None:
        self._open = open_database
        self._clock = clock
        self._known: Sequence[Silence] = ()
        self._trouble = ""

    def known(self) -> Sequence[Silence]:
        return self._known

    async def read(self) -> None:
        """Read them once; a database that cannot be read is a reason of `/readyz`, and is logged once."""
        trouble = ""
        try:
            self._known = await self.answer(List())
        except DatabaseError as error:
            trouble = f"silences cannot be read: {error}"
            if trouble != self._trouble:
                log.warning("silences cannot be read; those that were read last hold", reason=str(error))
        self._trouble = trouble

    async def run(self) -> None:
        """Read them every 10 s until cancelled."""
        with registered({}, lambda: [self._trouble] if self._trouble else []):
            while True:
                await self._clock.sleep(READ_SECONDS)
                await self.read()

    async def answer(self, request: Request) -> Sequence[Silence]:
        """Call `sql.landing.silences.answer` on a separate connection."""
        return await in_thread(partial(self._answer, request))

    def _answer(self, request: Request) -> Sequence[Silence]:
        with self._open() as database:
            return answer(database, request)

    @asynccontextmanager
    async def served(self, dsn: str) -> AsyncIterator[None]:
        """Answer `leadsman silence` of other processes, where the database is embedded."""
        target = parse_dsn(dsn)
        if not isinstance(target, Embedded):
            yield
            return
        with _near(target.folder) as path:
            path.unlink(missing_ok=True)
            server = await asyncio.start_unix_server(self._reply, path, limit=_LONGEST)
            path.chmod(FILE)
            try:
                yield
            finally:
                server.close()
                await server.wait_closed()
                path.unlink(missing_ok=True)

    async def _reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request: Request = msgspec.json.decode(await reader.readline(), type=Request)
            reply = _Answer(await self.answer(request))
            await self.read()
        except (ValueError, DatabaseError) as error:
            reply = _Answer(error=str(error))
        writer.write(msgspec.json.encode(reply) + b"\n")
        writer.close()
        await writer.wait_closed()


def ask(dsn: str, request: Request) -> Sequence[Silence]:
    """Ask the database, or the process that holds it. Raises BadSilence and DatabaseError."""
    try:
        with connect(dsn, make=False) as database:
            check_migrated(database)
            return answer(database, request)
    except DatabaseHeld as held:
        target = parse_dsn(dsn)
        if not isinstance(target, Embedded):
            raise
        return _ask_holder(target.folder, request, held)


def _ask_holder(folder: Path, request: Request, held: DatabaseHeld) -> Sequence[Silence]:
    """Ask the process that holds the database; raises `held` if it is not `leadsman up` and does not answer."""
    try:
        with _near(folder) as path, socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_SECONDS)
            connection.connect(str(path))
            connection.sendall(msgspec.json.encode(request) + b"\n")
            with connection.makefile("rb") as lines:
                reply = msgspec.json.decode(lines.readline(), type=_Answer)
    except (OSError, msgspec.MsgspecError):
        raise held from None
    if reply.error:
        raise BadSilence(reply.error)
    return reply.silences


@contextmanager
def _near(folder: Path) -> Iterator[Path]:
    """The address of the socket: a path to it may be too long for one, so it begins at the open folder."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield Path(f"/proc/self/fd/{number}") / SOCKET
    finally:
        os.close(number)
