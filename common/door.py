"""Limits the connections of a server: their number, and the time that one may take to send its request."""

import asyncio
from collections.abc import AsyncIterator, Callable, Container, Iterable
from contextlib import asynccontextmanager
from socket import socket
from typing import Any, Final, TypeVar, cast

import structlog
from aiohttp import web
from aiohttp.http import HttpProcessingError
from aiohttp.http_exceptions import LineTooLong

MOST_CONNECTIONS: Final = 600
ASKED_WITHIN_SECONDS: Final = 10.0
"""Deadline for the head of a request, from the connection or from the previous answer."""
BODY_SECONDS: Final = 2.0
"""Time for reading a body that is not needed."""
END_SECONDS: Final = 5.0
"""Time for running answers when the server stops."""
FULL: Final = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
BAD: Final = 400
TOO_LARGE: Final = 431
_REFUSED: Final = "a request was refused: it cannot be read"
log = structlog.get_logger(__name__)


C = TypeVar("C")


def make_room(here: Iterable[C], busy: Callable[[C], bool], close: Callable[[C], object], most: int) -> bool:
    """Tell whether one more connection may join those in `here`, the longest open first.

    If there is no room, the first one without a running answer is closed.
    """
    waiting = list(here)
    if len(waiting) < most:
        return True
    idle = next((each for each in waiting if not busy(each)), None)
    if idle is None:
        return False
    close(idle)
    return True


class _Full(asyncio.Protocol):
    """Answers a connection above the limit."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.WriteTransport):
            transport.write(FULL)
        transport.close()


class _Connection(web.RequestHandler):
    """Refuses an unreadable request without repeating any of it, in the answer or in the log."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if not isinstance(exc, HttpProcessingError | web.RequestPayloadError):
            return super().handle_error(request, status, exc, message)
        status = TOO_LARGE if isinstance(exc, LineTooLong) else BAD
        if isinstance(exc, HttpProcessingError):  # the other one is logged when the rest of its body is read
            log.warning(_REFUSED, remote=request.remote, status=status)
        if request.writer.output_size:
            raise ConnectionError("an answer has begun")
        answer = web.Response(status=status)
        answer.force_close()
        return answer

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """Log an unreadable body as one line."""
        if isinstance(kw.get("exc_info"), web.RequestPayloadError):
            log.warning(_REFUSED, remote=(self.peername or ("",))[0], status=BAD)
        else:
            super().log_exception(*args, **kw)


@asynccontextmanager
async def listening_at(
    app: web.Application, at: tuple[str, int] | socket, busy: Container[object], most: int = MOST_CONNECTIONS
) -> AsyncIterator[tuple[str, int]]:
    """Serve on this address or socket during the block; yield the address. Raises OSError.

    `busy` has the connections with a running answer. If `most` are open, one of the others is closed for a new
    connection.
    """
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=END_SECONDS)
    await runner.setup()
    loop = asyncio.get_running_loop()
    server = cast("web.Server", runner.server)

    def answering() -> asyncio.Protocol:
        here = (each for each in server.connections if each.transport and not each.transport.is_closing())
        if not make_room(here, busy.__contains__, lambda each: each.force_close(), most):
            return _Full()
        return _Connection(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # aiohttp accepts it
            keepalive_timeout=ASKED_WITHIN_SECONDS,
            lingering_time=BODY_SECONDS,
        )

    try:
        listener = await (
            loop.create_unix_server(answering, sock=at)
            if isinstance(at, socket)
            else loop.create_server(answering, *at)
        )
        try:
            yield listener.sockets[0].getsockname()[:2]
        finally:
            listener.close()
    finally:
        await runner.cleanup()
