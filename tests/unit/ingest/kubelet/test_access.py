"""A kubelet is asked through the API server's node proxy, or at its own port; the token goes to no one else."""

import asyncio
import os
import ssl
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import cache
from pathlib import Path

import msgspec
import pytest
from aiohttp import web
from kubernetes_asyncio.client.api_client import ApiClient
from kubernetes_asyncio.client.configuration import Configuration

from components.proc import resident_bytes
from components.processes import HOST, free_port
from components.secured import Authority
from ingest.apiserver.requests import TRANSPORT_ERRORS, ApiError, TooLargeError
from ingest.kubelet.access import (
    BODY_LIMIT_BYTES,
    Address,
    DirectAccess,
    KubeletUnreachable,
    fetch_by_proxy,
    kubelet_address,
)
from ingest.kubelet.poll import kubelet_client
from ingest.kubelet.settings import KubeletSettings

pytestmark = pytest.mark.asyncio

TOKEN = "Bearer secret-token"  # noqa: S105  # of no one


class Answering:
    """A server that remembers how it was asked."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[tuple[str, str]] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append((request.raw_path, request.headers.get("Authorization", "")))
        return web.json_response({"node": {}})


@asynccontextmanager
async def serving(tls: ssl.SSLContext | None = None) -> AsyncIterator[Answering]:
    server, app = Answering(), web.Application()
    app.router.add_route("GET", "/{path:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, 0, ssl_context=tls)
        await site.start()
        server.port = runner.addresses[0][1]
        yield server
    finally:
        await runner.cleanup()


@asynccontextmanager
async def a_kubelet(authority: Authority, name: str = "kubelet", of: str = f"IP:{HOST}") -> AsyncIterator[Answering]:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*authority.issue(name, of))
    async with serving(tls) as server:
        yield server


@asynccontextmanager
async def direct(kubelet: Answering, ca_file: Path, *, insecure: bool = False) -> AsyncIterator[DirectAccess]:
    access = Configuration()
    access.api_key["BearerToken"] = TOKEN
    direct_access = DirectAccess(access, lambda _: Address(HOST, kubelet.port), ca_file, insecure=insecure)
    try:
        yield direct_access
    finally:
        await direct_access.close()


async def test_the_proxy_asks_the_api_server_for_the_node_by_its_name() -> None:
    async with serving() as server:
        access = Configuration(host=f"http://{HOST}:{server.port}")
        access.api_key["BearerToken"] = TOKEN
        async with ApiClient(access) as client:
            await fetch_by_proxy(client, "n/../1", "stats/summary")
    assert server.asked == [("/api/v1/nodes/n%2F..%2F1/proxy/stats/summary", TOKEN)]


async def test_direct_access_asks_the_kubelet_itself_with_our_token(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "cluster")
    async with a_kubelet(authority) as kubelet, direct(kubelet, authority.ca_file) as direct_access:
        assert await direct_access.fetch("n", "stats/summary") == b'{"node": {}}'
    assert kubelet.asked == [("/stats/summary", TOKEN)]


async def test_a_kubelet_whose_certificate_is_of_another_authority_gets_no_token(tmp_path: Path) -> None:
    other = Authority(tmp_path, "other")
    async with a_kubelet(Authority(tmp_path, "cluster")) as kubelet, direct(kubelet, other.ca_file) as direct_access:
        with pytest.raises(KubeletUnreachable, match="unable to get local issuer certificate") as refused:
            await direct_access.fetch("n", "stats/summary")
    assert kubelet.asked == []
    for cure in ("serverTLSBootstrap", "watch.kubelet.ca_file", "watch.kubelet.access: proxy"):
        assert cure in str(refused.value)


async def test_a_certificate_for_the_nodes_name_is_its_kubelets_too(tmp_path: Path) -> None:
    """A certificate that a kubelet signs itself has only the name of its node (rules: kubelet-access)."""
    authority = Authority(tmp_path, "pinned")
    async with (
        a_kubelet(authority, "n1.example", "DNS:n1.example") as kubelet,
        direct(kubelet, authority.ca_file) as direct_access,
    ):
        for _ in range(2):
            await direct_access.fetch("n1.example", "metrics")
        for other in ("n2.example", "n" * 64):
            with pytest.raises(KubeletUnreachable, match="not trusted"):
                await direct_access.fetch(other, "metrics")
    assert kubelet.asked == [("/metrics", TOKEN)] * 2


async def test_a_kubelet_that_cannot_be_reached_names_the_other_way(tmp_path: Path) -> None:
    async with a_kubelet(authority := Authority(tmp_path, "cluster")) as kubelet:
        pass
    async with direct(kubelet, authority.ca_file) as direct_access:
        with pytest.raises(KubeletUnreachable, match=r"cannot be reached from here .*watch\.kubelet\.access: proxy"):
            await direct_access.fetch("n", "metrics")


@pytest.mark.parametrize("host", ["a..b", ".", "a" * 64, f"n.{'a' * 64}.internal", "a@b", "a/b", "a\nb", "é", "a b"])
async def test_an_invalid_node_address_makes_only_that_kubelet_unreachable(host: str) -> None:
    """The API server takes any; the lookup of some raises what would end the watch of all."""
    access = Configuration()
    access.api_key["BearerToken"] = TOKEN
    direct_access = DirectAccess(access, lambda _: Address(host, 10250))
    try:
        with pytest.raises(KubeletUnreachable, match="the node's address is not usable"):
            await direct_access.fetch("n", "metrics")
    finally:
        await direct_access.close()


@pytest.mark.parametrize("host", [HOST, "localhost", "localhost.", "::1", "::ffff:127.0.0.1"])
async def test_a_name_or_an_address_is_asked(host: str) -> None:
    direct_access = DirectAccess(Configuration(), lambda _: Address(host, free_port()))
    try:
        with pytest.raises(KubeletUnreachable, match="cannot be reached from here"):
            await direct_access.fetch("n", "metrics")
    finally:
        await direct_access.close()


async def test_only_the_explicit_switch_skips_verification(tmp_path: Path) -> None:
    other = Authority(tmp_path, "other")
    async with (
        a_kubelet(Authority(tmp_path, "cluster")) as kubelet,
        direct(kubelet, other.ca_file, insecure=True) as direct_access,
    ):
        await direct_access.fetch("n", "metrics")
    assert kubelet.asked == [("/metrics", TOKEN)]


async def test_a_given_address_goes_over_the_nodes_own(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "cluster")
    access = Configuration()
    access.api_key["BearerToken"] = TOKEN
    async with a_kubelet(authority) as kubelet, AsyncExitStack() as stack:
        settings = KubeletSettings(ca_file=authority.ca_file, addresses={"n": f"{HOST}:{kubelet.port}"})
        fetch = await kubelet_client(settings, access, lambda _: Address("192.0.2.1", 1), stack)
        await fetch("n", "metrics")
    assert kubelet.asked == [("/metrics", TOKEN)]


@cache
def _bomb() -> bytes:
    """64 MiB of zeros in 64 kB."""
    packed = zlib.compressobj(9, zlib.DEFLATED, wbits=31)
    return b"".join([*(packed.compress(bytes(1 << 20)) for _ in range(64)), packed.flush()])


GIVEN = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("head", "endless"),
    [
        pytest.param(b"HTTP/1.1 307 Go\r\nLocation: /configz\r\nContent-Length: 0\r\n\r\n", b"", id="a redirect"),
        pytest.param(GIVEN + b"\r\n", b"x" * 65536, id="a body without end"),
        pytest.param(
            GIVEN + b"Transfer-Encoding: chunked\r\n\r\n",
            b"ffff\r\n" + b"x" * 65535 + b"\r\n",
            id="chunks without end",
        ),
        pytest.param(GIVEN + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b"", id="a chunk without a length"),
        pytest.param(lambda: GIVEN + b"Content-Encoding: gzip\r\n\r\n" + _bomb(), b"", id="a bomb"),
        pytest.param(
            lambda: b"HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\n\r\n" + _bomb(), b"", id="a bomb as an error"
        ),
        pytest.param(GIVEN, b"A: b\r\n" * 1000, id="headers without end"),
        pytest.param(GIVEN + b"A: ", b"x" * 65536, id="a header without end"),
        pytest.param(b"\0\1\2", b"\0" * 1000, id="no HTTP"),
    ],
)
async def test_a_bad_answer_affects_only_its_own_kubelet(
    tmp_path: Path, head: bytes | Callable[[], bytes], endless: bytes
) -> None:
    """Each is one of the errors that end its round alone, in little memory, and nothing else is asked for."""
    first = head if isinstance(head, bytes) else head()
    authority, asked = Authority(tmp_path, "cluster"), list[bytes]()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*authority.issue("kubelet", f"IP:{HOST}"))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n"))
        with suppress(OSError):
            writer.write(first)
            await writer.drain()
            while endless:
                writer.write(endless)
                await writer.drain()
                await asyncio.sleep(0)  # drain alone lets nobody learn that the connection is lost
        writer.close()

    kubelet = Answering()
    async with await asyncio.start_server(answer, HOST, 0, ssl=tls) as server:
        kubelet.port = server.sockets[0].getsockname()[1]
        async with direct(kubelet, authority.ca_file) as direct_access:
            before = resident_bytes(os.getpid())
            with pytest.raises((ApiError, TooLargeError, *TRANSPORT_ERRORS)) as refused:
                await direct_access.fetch("n", "stats/summary")
            assert resident_bytes(os.getpid()) - before < 4 * BODY_LIMIT_BYTES
    assert not isinstance(refused.value, TimeoutError), "it is refused as soon as it is clear"
    assert asked == [b"GET /stats/summary HTTP/1.1\r\n"]


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        ([("Hostname", "n1"), ("InternalIP", "10.0.0.1"), ("InternalIP", "fd00::1")], Address("10.0.0.1", 1234)),
        ([("ExternalIP", "1.2.3.4"), ("Hostname", "n1")], Address("n1", 1234)),
        ([("ExternalIP", "1.2.3.4")], None),
        ([], None),
    ],
)
async def test_a_node_says_where_its_kubelet_is(addresses: list[tuple[str, str]], expected: Address | None) -> None:
    status = {
        "addresses": [{"type": kind, "address": address} for kind, address in addresses],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 1234}},
    }
    assert kubelet_address(msgspec.json.encode({"status": status})) == expected
