"""A request that cannot be read is refused, and nothing from it is repeated."""

import asyncio

import pytest
import structlog
from aiohttp import web

from common.door import listening_at
from components.processes import HOST
from waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.asyncio
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
MIB = 1 << 20


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(GET + b"X: " + b"canary" * 2000 + b"\r\n\r\n", 431, id="a header of 12 kB"),
        pytest.param(b"GET /" + b"canary" * 2000 + b" HTTP/1.1\r\n\r\n", 431, id="an address of 12 kB"),
        pytest.param(GET + b"X: canary\r\n" * 3000 + b"\r\n", 400, id="3,000 headers"),
        pytest.param(GET + b"canary\0\r\n\r\n", 400, id="a NUL in a header"),
        pytest.param(b"canary\r\n\r\n", 400, id="no method"),
        pytest.param(b"GET http://[canary/ HTTP/1.1\r\n\r\n", 400, id="no address"),
        pytest.param(GET + b"Content-Length: canary\r\n\r\n", 400, id="a length of letters"),
        pytest.param(GET + b"Transfer-Encoding: chunked\r\n\r\ncanary\r\n", 400, id="a chunk without its size"),
        pytest.param(GET + b"Content-Encoding: deflate\r\nContent-Length: 6\r\n\r\ncanary", 400, id="no deflate"),
        pytest.param(b"\x16\x03\x01\x02\0\x01canary\r\n", 400, id="TLS"),
    ],
)
async def test_a_request_that_cannot_be_read_is_one_line_without_its_content(
    sent: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    with structlog.testing.capture_logs() as lines:
        async with listening_at(web.Application(), (HOST, 0), ()) as (_, port), asyncio.timeout(PATIENCE_SECONDS):
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(sent)
            answer = await reader.read(MIB)
            writer.transport.abort()
    assert answer.startswith(f"HTTP/1.0 {status} ".encode())
    assert b"canary" not in answer
    assert len(lines) == 1
    assert not caplog.records, "aiohttp logs a traceback with the content"
    assert "canary" not in str(lines)


@pytest.mark.parametrize("encoding", [b"gzip", b"zstd"])
@pytest.mark.parametrize(("method", "status"), [(b"GET", 200), (b"POST", 400)])
async def test_a_body_that_is_not_compressed_as_it_says_is_one_line_too(
    method: bytes, status: int, encoding: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Each would be a traceback of 30 lines, whether somebody needs the body or not."""

    async def empty(_: web.Request) -> web.Response:
        return web.Response()

    async def read(request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    app = web.Application()
    app.add_routes([web.get("/", empty), web.post("/", read)])
    with structlog.testing.capture_logs() as lines:
        async with listening_at(app, (HOST, 0), ()) as (_, port), asyncio.timeout(PATIENCE_SECONDS):
            reader, writer = await asyncio.open_connection(HOST, port)
            head = method + GET.removeprefix(b"GET") + b"Content-Encoding: " + encoding
            writer.write(head + b"\r\nContent-Length: 6\r\n\r\ncanary")
            answer = await reader.read(MIB)
            writer.transport.abort()
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"canary" not in answer
    assert [line["event"] for line in lines] == ["a request was refused: it cannot be read"]
    assert not caplog.records, "aiohttp logs a traceback"
