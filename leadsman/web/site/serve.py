"""Serves the live page: a read-only site over one database, until it is stopped."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Final, TypeAlias

from aiohttp import web

from common import telemetry
from common.clock import SYSTEM
from common.cycles import timed_searches
from common.door import listening_at
from common.errors import AddressTaken
from common.loopback import is_loopback, is_own_name
from common.tasks import detached, stop_on_signals
from common.telemetry import Figure
from common.text import plain
from leadsman.web.reading.figures import read_figures
from leadsman.web.reading.scope import BadScope, RequestedRange
from leadsman.web.reading.settings import STEPS, PageSettings, Steps
from leadsman.web.rendering.links import ASK, EVENTS, FIND, HOME, NODE, NOWHERE, NUMA, RUNBOOKS, Links
from leadsman.web.rendering.render import SCRIPTS, STATIC, STYLES
from leadsman.web.site.access import Guesses, is_own_request
from leadsman.web.site.answers import CSV, note, sent, with_headers
from leadsman.web.site.asking import Question, csv_of, page_of
from leadsman.web.site.live import MOST_ID, Pulse, read_marks
from leadsman.web.site.pages import (
    LONGEST,
    NoSuchNode,
    NoSuchRunbook,
    Now,
    Redirect,
    Request,
    empty_page,
    find_of,
    node_of,
    numa_of,
    overview_of,
    runbook_of,
    runbooks_of,
    suggested_address,
)
from leadsman.web.site.query_queue import Busy, QueryQueue
from sql.database.errors import DatabaseError
from sql.database.open import Database
from sql.questions.query_process import QueryProcess
from streams.alerting.runbook import runbooks
from streams.fold.figures import FIGURES
from streams.fold.titles import capital

FILES: Final = {
    "icon.svg": "image/svg+xml",
    "live.js": "text/javascript",
    "theme.js": "text/javascript",
    **dict.fromkeys(STYLES, "text/css"),
    **dict.fromkeys(SCRIPTS, "text/javascript"),
}
READS: Final = frozenset({"GET", "HEAD"})
CHALLENGE: Final = 'Basic realm="Leadsman: the token is the password", charset="UTF-8"'
MOST_QUESTIONS: Final = 3
"""Maximum number of requests that run questions, which may take seconds; others are refused."""
WAITING: Final = Figure("page_waiting", "gauge", "Requests of the page that wait for the database")
READERS: Final = Figure("page_readers", "gauge", "Readers of live pages")
REFUSED: Final = Figure("page_refused", "counter", "Requests of the page that found too many waiting")
ABANDONED: Final = Figure("page_abandoned", "counter", "Answers of the page whose reader had left")
WRONG_TOKENS: Final = Figure("page_wrong_tokens", "counter", "Wrong tokens given to the page")
_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
_Make: TypeAlias = Callable[[Database, Request], str | None]


FAILURES: Final[Mapping[type[Exception], tuple[int, str]]] = {
    BadScope: (400, "This address cannot be read"),
    NoSuchRunbook: (404, "No such runbook"),
    Busy: (503, "Too many requests at once"),
    DatabaseError: (503, "The database does not answer"),
}


class Site:
    def __init__(
        self, db: Database, token: str, *, guard_host: bool, steps: Steps = STEPS, now: Now = SYSTEM.now
    ) -> None:
        self._now = now
        self._steps = steps
        self._token = token
        self._guard_host = guard_host and not token
        self._queue = QueryQueue(db)
        self._process = QueryProcess(db)
        self._questions = 0
        self._guesses = Guesses()
        self._pulse = Pulse(self._marks)
        self._found: Mapping[Figure, telemetry.Values] = {}
        self.busy: set[object] = set()
        """Connections on which an answer is under way."""

    def application(self) -> web.Application:
        app = web.Application(middlewares=[self._noted, self._guarded, self._failed], client_max_size=1024)
        app.add_routes(telemetry.routes("page"))
        app.router.add_get(HOME, partial(self._page, partial(overview_of, now=self._now)))
        app.router.add_get(NODE, partial(self._page, partial(node_of, now=self._now)))
        app.router.add_get(NUMA, partial(self._page, partial(numa_of, now=self._now)))
        app.router.add_get(FIND, partial(self._page, partial(find_of, now=self._now)))
        app.router.add_get(ASK, self._question)
        app.router.add_get(EVENTS, self._events)
        app.router.add_get(RUNBOOKS, self._runbooks)
        app.router.add_get(RUNBOOKS + "{name}", self._runbook)
        app.router.add_get("/static/{name}", self._file)
        app.on_response_prepare.append(with_headers)
        app.on_shutdown.append(self._end_live)
        app.cleanup_ctx.append(self._working)
        return app

    async def _working(self, _: web.Application) -> AsyncIterator[None]:
        figures: dict[Figure, Callable[[], telemetry.Values]] = {
            WAITING: lambda: {(): self._queue.waiting},
            READERS: lambda: {(): self._pulse.readers},
            REFUSED: lambda: {(): self._queue.refused},
            ABANDONED: lambda: {(): self._queue.abandoned},
            WRONG_TOKENS: lambda: {(): self._guesses.total},
            **{figure: partial(self._values, figure) for figure in FIGURES},
        }
        looking = detached(self._queue.look())
        try:
            with telemetry.registered(figures, self._queue.why_not, self._refresh):
                yield
        finally:
            looking.cancel()
            await self._queue.close()
            self._process.close()

    def _values(self, figure: Figure) -> telemetry.Values:
        return self._found.get(figure, {})

    async def _refresh(self) -> None:
        """Update the metrics of findings; there are none while the database does not answer."""
        found: Mapping[Figure, telemetry.Values] = {}
        try:
            with suppress(DatabaseError):
                found = await self._queue.run_anyway(read_figures, self._now())
        finally:
            self._found = found

    @web.middleware
    async def _noted(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        self.busy.add(request.protocol)
        try:
            return await handler(request)
        finally:
            self.busy.discard(request.protocol)

    @web.middleware
    async def _guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Pass on only read requests, and only from clients with access."""
        if request.method not in READS:
            return web.Response(status=405, text="This page is read only.\n", headers={"Allow": "GET, HEAD"})
        if self._guard_host and not is_own_name(request.headers.get("Host", "")):
            return web.Response(status=421, text="Open this page as localhost.\n")
        refused = self._refused(request)
        if refused is None or request.path == "/healthz":
            return await handler(request)
        if request.path == "/readyz":
            ready = not telemetry.why_not()
            return web.Response(status=200 if ready else 503, text="ready\n" if ready else "not ready\n")
        return refused

    def _refused(self, request: web.Request) -> web.Response | None:
        """Return the answer to a client without access; None if access is allowed."""
        given = request.headers.get("Authorization", "")
        refused = self._guesses.refusal(self._token, given, request.remote or "", CHALLENGE)
        return refused and web.Response(status=refused.status, text=refused.text, headers=refused.headers)

    @web.middleware
    async def _failed(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPNotFound:
            address = suggested_address(request.path, request.rel_url.raw_query_string)
            if address not in {"", request.path_qs}:
                return web.Response(status=303, headers={"Location": address})
            return note(404, "There is no such page", ["The address names no page of Leadsman."], _links(request))
        except Redirect as found:
            return web.Response(status=303, headers={"Location": str(found)})
        except NoSuchNode as error:
            return note(404, "No such node in this range", error.texts, error.links, error.alternatives)
        except tuple(FAILURES) as error:
            status, heading = next(found for kind, found in FAILURES.items() if isinstance(error, kind))
            links = Links(path=NOWHERE) if isinstance(error, BadScope) else _links(request)
            text = str(error)  # an error of the database begins with its address
            said = text if isinstance(error, DatabaseError) else capital(text)
            refused = note(status, heading, [said], links, getattr(error, "alternatives", ()))
            if isinstance(error, Busy):
                refused.headers["Retry-After"] = "3"
            return refused

    async def _file(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in FILES:
            raise web.HTTPNotFound
        return web.Response(body=(STATIC / name).read_bytes(), content_type=FILES[name], charset="utf-8")

    async def _runbooks(self, request: web.Request) -> web.StreamResponse:
        return await sent(request, runbooks_of(Request.of(dict(request.query))).encode())

    async def _runbook(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"].removesuffix(".md")
        if name not in runbooks() and (address := suggested_address(request.path, request.rel_url.raw_query_string)):
            raise Redirect(address)
        act = partial(runbook_of, request=Request.of(dict(request.query)), name=name, now=self._now)
        return await sent(request, await self._shared(request, partial(self._queue.run, _encode_in_thread, act)))

    async def _question(self, request: web.Request) -> web.StreamResponse:
        own = is_own_request(request.headers)
        question = Question.of(dict(request.query), trusted=own)
        body = await self._shared(request, partial(self._answered, question), own)
        if not question.as_csv:
            return await sent(request, body)
        if not body:
            raise web.HTTPNotFound
        return await sent(request, body, CSV, f"{question.query.name if question.query else 'answer'}.csv")

    async def _answered(self, question: Question) -> bytes:
        """Answer a question; empty if a file is requested and nothing is asked."""
        if self._questions >= MOST_QUESTIONS:
            raise Busy
        self._questions += 1
        try:
            act = csv_of if question.as_csv else partial(page_of, now=self._now)
            return await self._queue.run(_encode_in_thread, partial(act, question=question, process=self._process))
        finally:
            self._questions -= 1

    async def _events(self, request: web.Request) -> web.StreamResponse:
        cluster = Request.of(dict(request.query)).range.cluster
        if self._pulse.full:
            raise Busy
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
        await response.prepare(request)
        if request.method == "GET":
            with suppress(ConnectionError, TimeoutError):  # the client disconnected
                await self._pulse.send(response, cluster, request.headers.get("Last-Event-ID", "")[:MOST_ID])
        return response

    async def _marks(self) -> dict[str, str] | None:
        try:
            return await self._queue.run_anyway(read_marks)
        except DatabaseError:
            return None

    async def _page(self, make: _Make, request: web.Request) -> web.StreamResponse:
        page_request = Request.of(dict(request.query), self._steps)
        act = partial(_made, make, page_request)
        body = await self._shared(request, partial(self._queue.run, _encode_in_thread, act))
        if not page_request.csv:
            return await sent(request, body)
        return await sent(request, body, CSV, f"{page_request.csv}.csv")

    async def _shared(self, request: web.Request, make: Callable[[], Awaitable[bytes]], *more: Hashable) -> bytes:
        """Return one answer for all clients that ask the same about the same state of the database."""
        mark = (self._pulse.marks or {}).get(request.query.get("cluster", ""), "")
        return await self._queue.shared((str(request.rel_url), mark, *more), make)

    async def _end_live(self, _: web.Application) -> None:
        self._pulse.close()


def _links(request: web.Request) -> Links:
    given = {name: request.query.get(name, "")[:LONGEST] for name in (*RequestedRange._fields, "live")}
    return Links(
        RequestedRange(*(given[name] for name in RequestedRange._fields)), path=NOWHERE, live=given["live"] == "1"
    )


def _made(make: _Make, request: Request, db: Database) -> str:
    made = make(db, request)
    return empty_page(db) if made is None and not request.csv else made or ""


def _encode_in_thread(db: Database, act: Callable[[Database], str | None]) -> bytes:
    """Encode in the thread, because encoding takes a while."""
    return (act(db) or "").encode()


class CannotListen(AddressTaken):
    """The address is in use or not this machine's; the message has what to do."""

    def __init__(self, host: str, port: int, error: OSError) -> None:
        reason = plain(error.strerror or error)
        super().__init__(f"{host} port {port} cannot be listened on: {reason}. Name another --port")


def run_site(
    db: Database,
    host: str,
    port: int,
    token: str,
    settings: PageSettings,
    report: Callable[[str], None],
    beside: AbstractAsyncContextManager[None],
) -> None:
    """Serve inside `beside` until SIGINT or SIGTERM; `report` gets a line with the address. Raises CannotListen.

    An embedded database that is served has no writer, so its data is not live.
    """

    async def run() -> None:
        with stop_on_signals() as stop:
            now: Now = (lambda: None) if db.embedded else SYSTEM.now
            async with timed_searches(), beside, listening(db, host, port, token, settings, now) as at:
                report(f"the page is at {at} ; Ctrl-C ends it")
                await stop.wait()

    asyncio.run(run())


@asynccontextmanager
async def listening(
    db: Database, host: str, port: int, token: str, settings: PageSettings, now: Now = SYSTEM.now
) -> AsyncIterator[str]:
    """Serve during the block; yield the address. Raises CannotListen."""
    site = Site(db, token, guard_host=is_loopback(host), steps=settings.steps, now=now)
    async with AsyncExitStack() as stack:
        try:
            _, listened = await stack.enter_async_context(listening_at(site.application(), (host, port), site.busy))
        except OSError as error:
            raise CannotListen(host, port, error) from None
        yield address(host, listened)


def address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
