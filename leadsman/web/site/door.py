"""Connections of the site: a bounded number, none of which may take its time before it asks."""

import asyncio
from collections.abc import AsyncIterator, Container
from contextlib import asynccontextmanager
from typing import Final, cast

from aiohttp import web

MOST_CONNECTIONS: Final = 600
ASKED_WITHIN_SECONDS: Final = 10.0
"""From a connection, or its last answer, to the end of the next request's head."""
BODY_SECONDS: Final = 2.0
"""So long a body is read that nothing here needs."""
END_SECONDS: Final = 5.0
"""What is under way has so long when the site ends."""
_FULL: Final = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class _Full(asyncio.Protocol):
    """Of a connection that finds no room."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.WriteTransport):
            transport.write(_FULL)
        transport.close()


@asynccontextmanager
async def listening_at(
    app: web.Application, host: str, port: int, busy: Container[object]
) -> AsyncIterator[tuple[str, int]]:
    """Answers on this address during the block; gives the address that it got. Raises OSError.

    Where there is no room for a connection, the one that has been open longest without an answer under way makes
    some; `busy` has those with one.
    """
    runner = web.AppRunner(
        app,
        access_log=None,
        handler_cancellation=True,
        keepalive_timeout=ASKED_WITHIN_SECONDS,
        lingering_time=BODY_SECONDS,
        shutdown_timeout=END_SECONDS,
    )
    await runner.setup()
    server = cast("web.Server", runner.server)

    def answering() -> asyncio.Protocol:
        here = [each for each in server.connections if each.transport and not each.transport.is_closing()]
        if len(here) >= MOST_CONNECTIONS:
            idle = next((each for each in here if each not in busy), None)
            if idle is None:
                return _Full()
            idle.force_close()
        return server()

    try:
        listener = await asyncio.get_running_loop().create_server(answering, host, port)
        try:
            yield listener.sockets[0].getsockname()[:2]
        finally:
            listener.close()
    finally:
        await runner.cleanup()
