"""Sends answers of the site: common headers, and bodies in pieces, as fast as a client reads them."""

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
    "Referrer-Policy": "same-origin",  # shows that a question was asked on this site, see `access.is_own_request`
    "Server": "leadsman",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
HTML: Final = "text/html"
CSV: Final = "text/csv"
PIECE: Final = 1 << 16
TAKEN_WITHIN_SECONDS: Final = 60.0
"""A client that takes longer over one answer is disconnected."""


async def with_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


async def sent(request: web.Request, body: bytes, content_type: str = HTML, file: str = "") -> web.StreamResponse:
    """Send a body that many clients share: for a slow client only the current piece is copied."""
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
            for start in range(0, len(body), PIECE):
                await response.write(body[start : start + PIECE])
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
    """Return a page that says why a page is missing; `alternatives` are names and addresses of existing ones."""
    text = note_page(links, heading, texts, alternatives=alternatives)
    return web.Response(status=status, text=text, content_type=HTML, charset="utf-8")
