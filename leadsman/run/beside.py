"""Lets this user's other commands query an embedded database, which only one process can open.

They connect to a socket in the database's folder (`sql.database.held`), which works like ClickHouse's HTTP interface.
A user's own SQL is sent to `OWN`, and answered like SQL on the page: vetted, in a child process, within limits.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from typing import Any, Final

import msgspec
import structlog
from aiohttp import web

from common.door import listening_at
from common.tasks import detached
from sql.database.dsn import Embedded
from sql.database.errors import DatabaseError, QueryFailed
from sql.database.held import PING, is_trusted, listening, remove
from sql.database.holder import NAME, Refused, Statement, kill
from sql.database.open import Database, Stop, end
from sql.questions.frames import OWN, SqlReply, SqlRequest
from sql.questions.limits import SHARED, Limits
from sql.questions.query_process import QueryProcess

MOST_AT_ONCE: Final = 4
"""Number of statements that run at the same time; others wait."""
MOST_CONNECTIONS: Final = 64
LONGEST: Final = 16 << 20
"""Maximum number of bytes of a request."""
TAKEN_SECONDS: Final = 10.0
"""Time in which a client must read a piece of its answer, or it is disconnected, because others wait for its slot."""
Ask = Callable[[bytes], Awaitable[bytes]]
"""Handles another path: turns the body of a request into that of the answer."""
log = structlog.get_logger(__name__)


@asynccontextmanager
async def answering(held: Database, others: dict[str, Ask] | None = None) -> AsyncIterator[None]:
    """Answer commands during the block. Do nothing unless `held` is an embedded database that this process has open.

    `others` handle further paths. If no socket can be created in the folder, this is logged, and nobody is answered.
    """
    if not held.is_here:
        yield
        return
    target = Embedded(held.folder, held.name)
    try:
        listener = listening(target.folder)
    except OSError as error:
        log.warning("other commands cannot query this database while this one runs", reason=str(error))
        yield
        return
    with held.another() as database, closing(QueryProcess(database)) as own:
        site = _Beside(target, database, own, others or {})
        try:
            async with listening_at(site.application(), listener, site.busy, MOST_CONNECTIONS):
                yield
        finally:
            remove(target.folder)


class _Beside:
    def __init__(self, target: Embedded, database: Database, own: QueryProcess, others: dict[str, Ask]) -> None:
        self._target = target
        self._database = database
        self._own = own
        self._others = others
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)
        self._own_turn = asyncio.Lock()
        """SQL that people wrote runs in one child process, a question at a time."""
        self.busy: set[object] = set()

    def application(self) -> web.Application:
        app = web.Application(middlewares=[self._guarded], client_max_size=LONGEST)
        app.router.add_get(PING, self._ping)
        app.router.add_post(OWN, self._answer_own)
        for path, ask in self._others.items():
            app.router.add_post(path, partial(self._answer_other, ask))
        app.router.add_route("*", "/", self._answer)
        return app

    @web.middleware
    async def _guarded(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Answer only this user and root, even if the mode of the socket was changed."""
        connection = request.transport and request.transport.get_extra_info("socket")
        if not connection or not is_trusted(connection.fileno(), os.geteuid()):
            return web.Response(status=403)
        self.busy.add(request.protocol)
        try:
            return await handler(request)
        finally:
            self.busy.discard(request.protocol)

    async def _ping(self, _: web.Request) -> web.Response:
        return web.Response(text="Ok.\n")

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        with _reading():
            form = {name: str(value) for name, value in (await request.post()).items()}
            body = "" if form else (await request.read()).decode()
            statement = Statement.of(dict(request.query), form, body)
        stop = Stop()
        stop.name = statement.settings.get(NAME, stop.name)
        response = web.StreamResponse(headers={"X-ClickHouse-Timezone": "UTC"})
        async with self._slots:
            try:
                act = partial(self._send, statement, stop, request, response, asyncio.get_running_loop())
                await _unless_left(stop, act, partial(kill, self._target, stop.name))
            except (Refused, DatabaseError) as error:
                if response.prepared:  # the headers are sent, so the client detects an error by the end of the body
                    await response.write(str(error).encode())
                else:
                    code = {"X-ClickHouse-Exception-Code": error.code} if isinstance(error, Refused) else {}
                    return web.Response(status=500, text=str(error), headers=code)
        if not response.prepared:  # without rows nothing was sent, not even headers
            await response.prepare(request)
        await response.write_eof()
        return response

    def _send(
        self,
        statement: Statement,
        stop: Stop,
        request: web.Request,
        response: web.StreamResponse,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Send the answer as the engine produces it, so that a large one takes no memory here."""

        async def write(piece: bytes) -> None:
            if not response.prepared:
                await response.prepare(request)
            await asyncio.wait_for(response.write(piece), TAKEN_SECONDS)

        with closing(statement.answer(self._target, stop.name)) as pieces:
            for piece in pieces:
                if stop.is_set:
                    break
                asyncio.run_coroutine_threadsafe(write(piece), loop).result()

    async def _answer_own(self, request: web.Request) -> web.Response:
        with _reading():
            own: SqlRequest = msgspec.msgpack.decode(await request.read(), type=SqlRequest)
        limits = Limits(*map(min, own.limits, SHARED))
        async with self._own_turn:
            self._database.stop = stop = Stop()
            try:
                found = await _unless_left(stop, partial(self._own.ask, own.sql, own.given, limits), lambda: None)
                reply = SqlReply(found.column_names, found.column_types, list(found.rows))
            except DatabaseError as error:
                code = error.code if isinstance(error, QueryFailed) else None
                reply = SqlReply(problem=str(error), code=code)
            finally:
                self._database.stop = None
        return web.Response(body=msgspec.msgpack.encode(reply))

    async def _answer_other(self, ask: Ask, request: web.Request) -> web.Response:
        return web.Response(body=await ask(await request.read()))


@contextmanager
def _reading() -> Iterator[None]:
    """Refuse an unreadable request, without repeating any of it in the log."""
    try:
        yield
    except (ValueError, LookupError, msgspec.DecodeError):  # LookupError: unknown charset
        log.warning("a command's request was refused: it cannot be read")
        raise web.HTTPBadRequest from None


async def _unless_left(stop: Stop, act: Callable[[], Any], kill_it: Callable[[], None]) -> Any:
    """Run `act` in a thread. A client that disconnects cancels the request, and its query is killed."""
    running = detached(asyncio.to_thread(act))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await end(stop, running, kill_it)
        raise
