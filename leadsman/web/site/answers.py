"""Answers of the site: common headers, and bodies in pieces, as fast as a reader accepts them."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from aiohttp import web

from leadsman.web.rendering.links import Links
from leadsman.web.rendering.render import note_page

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # by which a question is known to be asked here, see `access.is_own_request`
    "Server": "leadsman",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
HTML: Final = "text/html"
CSV: Final = "text/csv"
PIECE: Final = 1 << 16
TAKEN_WITHIN_SECONDS: Final = 60.0
"""A reader who takes longer over one answer loses the connection."""


async def with_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


async def sent(request: web.Request, body: bytes, content_type: str = HTML, file: str = "") -> web.StreamResponse:
    """A body that many readers share: of a slow one's nothing is copied but the piece that is on its way."""
    response = web.StreamResponse()
    response.content_type, response.charset = content_type, "utf-8"
    response.content_length = len(body)
    if file:
        response.headers["Content-Disposition"] = f'attachment; filename="{file}"'
    await response.prepare(request)
    if request.method == "HEAD":
        return response
    try:
        async with asyncio.timeout(TAKEN_WITHIN_SECONDS):
            for place in range(0, len(body), PIECE):
                await response.write(body[place : place + PIECE])
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()
        return response
    with suppress(ConnectionError):
        await response.write_eof()
    return response


def note(
    status: int, heading: str, texts: Sequence[str], links: Links, alternatives: Sequence[tuple[str, str]] = ()
) -> web.Response:
    """A page that says why there is no other; `alternatives` are names and addresses of what there is."""
    text = note_page(links, heading, texts, alternatives=alternatives)
    return web.Response(status=status, text=text, content_type=HTML, charset="utf-8")
