"""The live page: a site over one database, read only."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeAlias, TypeVar

from aiohttp import web

from leadsman.web.reading.asked import rows
from leadsman.web.reading.scope import BadScope
from leadsman.web.rendering.links import HOME, NODE, Links
from leadsman.web.rendering.render import STATIC, note_page
from leadsman.web.site.access import is_own_name, may_read
from leadsman.web.site.pages import NoSuchNode, Request, empty_page, node_of, overview_of
from sql.database.errors import DatabaseError
from sql.database.open import Database

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
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
    "page.css": "text/css",
    "page.js": "text/javascript",
    "theme.js": "text/javascript",
    "uplot.min.css": "text/css",
    "uplot.min.js": "text/javascript",
}
READS: Final = frozenset({"GET", "HEAD"})
_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
_T = TypeVar("_T")


class Site:
    """The handlers; the database is asked by one thread, as it wants it."""

    def __init__(self, db: Database, token: str, *, guard_host: bool) -> None:
        self._db = db
        self._token = token
        self._guard_host = guard_host and not token
        self._thread = ThreadPoolExecutor(1, "page")

    def application(self) -> web.Application:
        """All routes behind the token and the refusals."""
        app = web.Application(middlewares=[self._guarded, self._failed], client_max_size=1024)
        app.router.add_get(HOME, self._overview)
        app.router.add_get(NODE, self._node)
        app.router.add_get("/static/{name}", self._file)
        app.router.add_get("/healthz", self._health)
        app.on_cleanup.append(self._close)
        return app

    @web.middleware
    async def _guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Only reads, only by who may, and every answer with the headers."""
        response: web.StreamResponse
        if request.method not in READS:
            response = web.Response(status=405, text="This page is read only.\n", headers={"Allow": "GET, HEAD"})
        elif self._guard_host and not is_own_name(request.headers.get("Host", "")):
            response = web.Response(status=421, text="Ask this page as localhost.\n")
        elif request.path != "/healthz" and not may_read(self._token, request.headers.get("Authorization", "")):
            headers = {"WWW-Authenticate": 'Basic realm="Leadsman: the token is the password", charset="UTF-8"'}
            response = web.Response(status=401, text="The token is needed.\n", headers=headers)
        else:
            response = await handler(request)
        response.headers.update(HEADERS)
        return response

    @web.middleware
    async def _failed(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """An error, as a page."""
        try:
            return await handler(request)
        except web.HTTPNotFound:
            return _note(404, "There is no such page", "The address names no page of Leadsman.")
        except BadScope as error:
            return _note(400, "This address cannot be read", str(error))
        except NoSuchNode as error:
            return _note(404, "No such node", str(error))
        except DatabaseError as error:
            return _note(503, "The database does not answer", str(error))

    async def _overview(self, request: web.Request) -> web.Response:
        return await self._page(overview_of, request)

    async def _node(self, request: web.Request) -> web.Response:
        return await self._page(node_of, request)

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

    async def _page(self, make: Callable[[Database, Request], str | None], request: web.Request) -> web.Response:
        asked = Request.of(dict(request.query))
        text = await self._ask(make, self._db, asked)
        return _html(200, await self._ask(empty_page, self._db) if text is None else text)

    async def _ask(self, act: Callable[..., _T], *arguments: object) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(act, *arguments))

    async def _close(self, _: web.Application) -> None:
        self._thread.shutdown()


def _note(status: int, heading: str, text: str) -> web.Response:
    return _html(status, note_page(Links(), heading, [text]))


def _html(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text, content_type="text/html", charset="utf-8")
