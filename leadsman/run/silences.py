"""Keeps silences up to date while a part runs: reads them from the database regularly, and applies changes by
`leadsman silence`. They are in the database and on no topic, because people make a few a week, the page and the story
show them, and `up` has no Kafka. Alerts do not depend on the database: if it cannot be read, the last known silences
hold until they end, and nothing else is silenced. Only one process can open an embedded database; that process
answers `leadsman silence`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec
import structlog

from common.clock import SYSTEM, Clock
from common.tasks import in_thread
from common.telemetry import registered
from sql.database.dsn import existing
from sql.database.errors import DatabaseError, DatabaseHeld
from sql.database.held import reach
from sql.database.open import Database, connect
from sql.landing.silences import List, Request, answer
from sql.schema.migrate import check_migrated
from streams.alerting.silences import BadSilence, Silence

READ_SECONDS: Final = 10.0
SILENCES: Final = "/silences"
log = structlog.get_logger(__name__)


class _Answer(msgspec.Struct):
    silences: Sequence[Silence] = ()
    error: str = ""


class Silences:
    def __init__(self, open_database: Callable[[], Database], clock: Clock = SYSTEM) -> None:
        self._open = open_database
        self._clock = clock
        self._known: Sequence[Silence] = ()
        self._trouble = ""

    def known(self) -> Sequence[Silence]:
        return self._known

    async def read(self) -> None:
        """Read them once. If the database cannot be read, `/readyz` has the reason, and it is logged once."""
        trouble = ""
        try:
            self._known = await self.answer(List())
        except DatabaseError as error:
            trouble = f"silences cannot be read: {error}"
            if trouble != self._trouble:
                log.warning("silences cannot be read; the ones read last still apply", reason=str(error))
        self._trouble = trouble

    async def run(self) -> None:
        """Read them every 10 s until cancelled."""
        with registered({}, lambda: [self._trouble] if self._trouble else []):
            while True:
                await self._clock.sleep(READ_SECONDS)
                await self.read()

    async def answer(self, request: Request) -> Sequence[Silence]:
        return await in_thread(partial(self._answer, request))

    def _answer(self, request: Request) -> Sequence[Silence]:
        with self._open() as database:
            return answer(database, request)

    async def reply(self, body: bytes) -> bytes:
        """Reply to `leadsman silence` of another process, at path SILENCES of the server in `leadsman.run.beside`."""
        try:
            request: Request = msgspec.json.decode(body, type=Request)
            reply = _Answer(await self.answer(request))
            await self.read()
        except (ValueError, DatabaseError) as error:
            reply = _Answer(error=str(error))
        return msgspec.json.encode(reply)


def ask(dsn: str, request: Request) -> Sequence[Silence]:
    """Query the database, or the process that holds it. Raises BadSilence and DatabaseError."""
    try:
        with connect(dsn, make=False) as database:
            check_migrated(database)
            return answer(database, request)
    except DatabaseHeld as held:
        with reach(existing(dsn), held) as holder:
            if isinstance(request, List):
                return answer(holder, request)
            reply = msgspec.json.decode(holder.post(SILENCES, msgspec.json.encode(request)), type=_Answer)
    if reply.error:
        raise BadSilence(reply.error)
    return reply.silences
