"""The live page: a site over one database, read only."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final, TypeAlias, TypeVar

from aiohttp import web

from common.tasks import apart
from leadsman.web.reading.asked import rows
from leadsman.web.reading.scope import BadScope
from leadsman.web.rendering.links import ASK, EVENTS, HOME, NODE, NUMA, RUNBOOKS, Links
from leadsman.web.rendering.render import SCRIPTS, STATIC, STYLES, note_page
from leadsman.web.site.access import is_own_name, may_read
from leadsman.web.site.asking import Question, csv_of, page_of
from leadsman.web.site.live import MOST_ID, Pulse, read_marks
from leadsman.web.site.pages import (
    NoSuchNode,
    NoSuchRunbook,
    Request,
    empty_page,
    node_of,
    numa_of,
    overview_of,
    runbook_of,
    runbooks_of,
)
from sql.database.errors import DatabaseError
from sql.database.open import Database

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "leadsman",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
FILES: Final = {
    "icon.svg": "image/svg+xml",
    "live.js": "text/javascript",
    "theme.js": "text/javascript",
    **dict.fromkeys(STYLES, "text/css"),
    **dict.fromkeys(SCRIPTS, "text/javascript"),
}
READS: Final = frozenset({"GET", "HEAD"})
OWN: Final = frozenset({"same-origin", "none", ""})
"""What a browser says in Sec-Fetch-Site of a request that no other site made; other programs say nothing."""
MOST_WAITING: Final = 32
"""Requests that wait for the database; another is refused."""
MOST_QUESTIONS: Final = 3
"""Those of them that ask a question, which may take seconds."""
KEPT_SECONDS: Final = 1.0
"""How long a page is given again to whoever asks the same; readers of a live page all ask at once."""
KEPT_PAGES: Final = 64
_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
_T = TypeVar("_T")


class Busy(Exception):
    """Too many wait for the database."""


FAILURES: Final[Mapping[type[Exception], tuple[int, str]]] = {
    BadScope: (400, "This address cannot be read"),
    NoSuchNode: (404, "No such node"),
    NoSuchRunbook: (404, "No such runbook"),
    Busy: (503, "Too many ask at once"),
    DatabaseError: (503, "The database does not answer"),
}


class Site:
    """The handlers; the database is asked by one thread, as it wants it."""

    def __init__(self, db: Database, token: str, *, guard_host: bool) -> None:
        self._db = db
        self._token = token
        self._guard_host = guard_host and not token
        self._thread = ThreadPoolExecutor(1, "page")
        self._waiting = self._questions = 0
        self._pulse = Pulse(self._marks)
        self._kept: dict[tuple[str, str], asyncio.Task[str]] = {}

    def application(self) -> web.Application:
        """All routes behind the token and the refusals."""
        app = web.Application(middlewares=[self._guarded, self._failed], client_max_size=1024)
        app.router.add_get(HOME, self._overview)
        app.router.add_get(NODE, self._node)
        app.router.add_get(ASK, self._question)
        app.router.add_get(EVENTS, self._events)
        app.router.add_get(RUNBOOKS, self._runbooks)
        app.router.add_get(RUNBOOKS + "{name}", self._runbook)
        app.router.add_get(NUMA, self._numa)
        app.router.add_get("/static/{name}", self._file)
        app.router.add_get("/healthz", self._health)
        app.on_response_prepare.append(_with_headers)
        app.on_shutdown.append(self._end_live)
        app.on_cleanup.append(self._close)
        return app

    @web.middleware
    async def _guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Only reads, only by who may."""
        if request.method not in READS:
            return web.Response(status=405, text="This page is read only.\n", headers={"Allow": "GET, HEAD"})
        if self._guard_host and not is_own_name(request.headers.get("Host", "")):
            return web.Response(status=421, text="Ask this page as localhost.\n")
        if request.path != "/healthz" and not may_read(self._token, request.headers.get("Authorization", "")):
            headers = {"WWW-Authenticate": 'Basic realm="Leadsman: the token is the password", charset="UTF-8"'}
            return web.Response(status=401, text="The token is needed.\n", headers=headers)
        return await handler(request)

    @web.middleware
    async def _failed(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """An error, as a page."""
        try:
            return await handler(request)
        except web.HTTPNotFound:
            return _note(404, "There is no such page", "The address names no page of Leadsman.")
        except tuple(FAILURES) as error:
            status, heading = next(found for kind, found in FAILURES.items() if isinstance(error, kind))
            refused = _note(status, heading, str(error))
            if isinstance(error, Busy):
                refused.headers["Retry-After"] = "3"
            return refused

    async def _overview(self, request: web.Request) -> web.Response:
        return await self._page(overview_of, request)

    async def _node(self, request: web.Request) -> web.Response:
        return await self._page(node_of, request)

    async def _numa(self, request: web.Request) -> web.Response:
        return await self._page(numa_of, request)

    async def _file(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in FILES:
            raise web.HTTPNotFound
        return web.Response(body=(STATIC / name).read_bytes(), content_type=FILES[name], charset="utf-8")

    async def _health(self, _: web.Request) -> web.Response:
        try:
            await self._ask(rows, self._db, "health", {})
        except DatabaseError:
            return web.Response(status=503, text="the database does not answer\n")
        return web.Response(text="ok\n")

    async def _runbooks(self, request: web.Request) -> web.Response:
        return _html(200, runbooks_of(Request.of(dict(request.query))))

    async def _runbook(self, request: web.Request) -> web.Response:
        name = request.match_info["name"].removesuffix(".md")
        return _html(200, await self._ask(runbook_of, self._db, Request.of(dict(request.query)), name))

    async def _question(self, request: web.Request) -> web.Response:
        own = request.headers.get("Sec-Fetch-Site", "") in OWN
        question = Question.of(dict(request.query), trusted=own)
        if self._questions >= MOST_QUESTIONS:
            raise Busy("Try again in a few seconds.")
        self._questions += 1
        try:
            if not question.as_csv:
                return _html(200, await self._ask(page_of, self._db, question))
            text = await self._ask(csv_of, self._db, question)
        finally:
            self._questions -= 1
        if text is None:
            raise web.HTTPNotFound
        name = question.query.name if question.query else "answer"
        headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
        return web.Response(text=text, content_type="text/csv", charset="utf-8", headers=headers)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        cluster = Request.of(dict(request.query)).asked.cluster
        if self._pulse.full:
            raise Busy("Try again in a few seconds.")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
        await response.prepare(request)
        if request.method == "GET":
            with suppress(ConnectionError, TimeoutError):  # the reader left
                await self._pulse.send(response, cluster, request.headers.get("Last-Event-ID", "")[:MOST_ID])
        return response

    async def _marks(self) -> dict[str, str] | None:
        try:
            return await self._ask(read_marks, self._db)
        except (DatabaseError, Busy):
            return None

    async def _page(self, make: Callable[[Database, Request], str | None], request: web.Request) -> web.Response:
        asked = Request.of(dict(request.query))
        key = (str(request.rel_url), (self._pulse.marks or {}).get(asked.asked.cluster, ""))
        if key not in self._kept:
            if len(self._kept) >= KEPT_PAGES:
                raise Busy("Try again in a few seconds.")
            self._kept[key] = apart(self._made(make, asked))
            self._kept[key].add_done_callback(partial(self._forget, key))
        return _html(200, await asyncio.shield(self._kept[key]))

    def _forget(self, key: tuple[str, str], made: asyncio.Task[str]) -> None:
        keep = KEPT_SECONDS if made.exception() is None else 0
        asyncio.get_running_loop().call_later(keep, self._kept.pop, key, None)

    async def _made(self, make: Callable[[Database, Request], str | None], asked: Request) -> str:
        text = await self._ask(make, self._db, asked)
        return await self._ask(empty_page, self._db) if text is None else text

    async def _ask(self, act: Callable[..., _T], *arguments: object) -> _T:
        if self._waiting >= MOST_WAITING:
            raise Busy("Try again in a few seconds.")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, partial(act, *arguments))
        finally:
            self._waiting -= 1

    async def _end_live(self, _: web.Application) -> None:
        self._pulse.close()

    async def _close(self, _: web.Application) -> None:
        self._thread.shutdown()


async def _with_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


def _note(status: int, heading: str, text: str) -> web.Response:
    return _html(status, note_page(Links(), heading, [text]))


def _html(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text, content_type="text/html", charset="utf-8")
