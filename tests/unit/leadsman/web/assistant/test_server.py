"""The door of `leadsman mcp --http`: a silent client does not block others."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import cast
from unittest.mock import Mock

import pytest
import uvicorn
from mcp import Client
from mcp.shared.exceptions import MCPError
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from common.tasks import Tasks
from components.processes import HOST
from leadsman.web.assistant import server as assistant
from leadsman.web.assistant.server import MOST_CONNECTIONS, http_server, listener_at
from leadsman.web.assistant.tools import Tools
from waiting import PATIENCE_SECONDS, unhurried, until

pytestmark = pytest.mark.asyncio
ASK = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Held:
    """An app whose answers are under way until `free` is set."""

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.free.set()
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        while (await receive()).get("more_body"):
            pass
        self.under_way += 1
        await self.free.wait()
        await PlainTextResponse("well")(scope, receive, send)


@asynccontextmanager
async def _listening(app: ASGIApp) -> AsyncIterator[int]:
    with listener_at(HOST, 0) as listener:
        server: uvicorn.Server = http_server(app)
        async with Tasks() as spawn:
            serving = spawn(server.serve(sockets=[listener]))
            yield listener.getsockname()[1]
            server.should_exit = True
            await serving


async def _status(port: int, within: float = PATIENCE_SECONDS) -> bytes:
    async with asyncio.timeout(within):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(ASK)
        line = await reader.readline()
        writer.transport.abort()
    return line.strip()


BODY = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\nHost: ", BODY], ids=["silent", "heads that never end", "bodies that never end"]
)
async def test_connections_that_ask_nothing_keep_nobody_out(sent: bytes) -> None:
    async with _listening(Held()) as port:
        held = []
        for _ in range(2 * MOST_CONNECTIONS):
            held.append(await asyncio.open_connection(HOST, port))
            held[-1][1].write(sent)
        assert await _status(port, unhurried(5)) == b"HTTP/1.1 200 OK"
        async with asyncio.timeout(PATIENCE_SECONDS):
            for reader, _ in held[:MOST_CONNECTIONS]:
                with suppress(ConnectionResetError):
                    assert await reader.read() == b""
        for _, writer in held:
            writer.transport.abort()


async def test_an_idle_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assistant, "ASKED_WITHIN_SECONDS", 0.0)
    async with _listening(Held()) as port, asyncio.timeout(PATIENCE_SECONDS):
        reader, writer = await asyncio.open_connection(HOST, port)
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.transport.abort()


async def test_answers_under_way_are_not_cut_and_more_are_refused() -> None:
    app = Held()
    app.free.clear()
    async with _listening(app) as port:
        asking = [asyncio.create_task(_status(port)) for _ in range(MOST_CONNECTIONS)]
        await until(lambda: app.under_way == MOST_CONNECTIONS)
        assert await _status(port) == b"HTTP/1.1 503 Service Unavailable"
        app.free.set()
        assert set(await asyncio.gather(*asking)) == {b"HTTP/1.1 200 OK"}


async def test_who_does_not_take_an_answer_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assistant, "TAKEN_SECONDS", 0.0)
    ended = asyncio.Event()

    async def large(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("x" * (64 << 20))(scope, receive, send)
        ended.set()

    async with _listening(large) as port, asyncio.timeout(PATIENCE_SECONDS):
        _, writer = await asyncio.open_connection(HOST, port)
        writer.write(ASK)
        await ended.wait()
        writer.transport.abort()


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"Content-Length: 5\r\nTransfer-Encoding: chunked", id="two lengths of a body"),
        pytest.param(b"Transfer-Encoding: chunked\r\nContent-Length: 5", id="the same in the other order"),
        pytest.param(b"Content-Length: 5\r\nContent-Length: 6", id="two different lengths"),
        pytest.param(b"Content-Length: +5", id="a length with a sign"),
        pytest.param(b"Transfer-Encoding: xchunked", id="an encoding that nobody knows"),
        pytest.param(b"Transfer-Encoding: chunked, chunked", id="an encoding twice"),
        pytest.param(b"Transfer-Encoding : chunked", id="a space before the colon"),
        pytest.param(b"X: a\rTransfer-Encoding: chunked", id="half an end of a line"),
    ],
)
async def test_a_second_request_cannot_be_smuggled_in(head: bytes) -> None:
    """Bytes that a proxy may read otherwise reach no tool, and none behind them is read as a request."""
    app = Held()
    async with _listening(app) as port, asyncio.timeout(PATIENCE_SECONDS):
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + ASK)
        answer = await reader.read()
        writer.transport.abort()
    assert app.under_way == 0
    assert answer.count(b"HTTP/1.") == 1
    assert re.match(rb"HTTP/1\.[01] (400|501) ", answer)


async def test_what_a_client_calls_a_prompt_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """The library logs a traceback with it."""
    async with Client(assistant.assistant(cast("Tools", Mock(spec=Tools)))) as client:
        with pytest.raises(MCPError, match="there are no prompts"):
            await client.get_prompt("hunter2")
    assert not [each for each in caplog.records if each.name.startswith("mcp")]
