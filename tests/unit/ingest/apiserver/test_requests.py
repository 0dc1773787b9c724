"""Requests to the API server and the errors that it answers."""

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import aiohttp
import pytest
from kubernetes_asyncio.client.api_client import ApiClient
from kubernetes_asyncio.client.configuration import Configuration
from prometheus_client import REGISTRY

from fakes.apiserver import Answer, FakeApiServer, refusal, watching
from ingest.apiserver.requests import (
    RETRY_AFTER_LIMIT_SECONDS,
    ApiError,
    TooLargeError,
    describe_transport_error,
    get,
    keep_alive,
    read_body,
)

pytestmark = pytest.mark.asyncio

TIMEOUTS = aiohttp.ClientTimeout(total=5)


async def _ask(answer: Answer, limit_bytes: int = 1000) -> bytes:
    async with FakeApiServer().running() as server, server.client() as client:
        server.script["/x"] = [answer]
        async with get(client, "/x", {}, TIMEOUTS) as response:
            return await read_body(response, limit_bytes)


async def _error(answer: Answer) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await _ask(answer)
    return caught.value


async def test_a_statuss_retry_seconds_override_the_header_and_both_are_bounded() -> None:
    headers = {"Retry-After": "7"}
    assert (await _error(refusal(429, "TooManyRequests", "", headers))).retry_after_seconds == 7
    assert (await _error(refusal(429, "", "", headers, retryAfterSeconds=9))).retry_after_seconds == 9
    far = refusal(429, "", "", retryAfterSeconds=10**9)
    assert (await _error(far)).retry_after_seconds == RETRY_AFTER_LIMIT_SECONDS
    assert (await _error(refusal(429, "", "", {"Retry-After": "Fri, 31 Dec"}))).retry_after_seconds == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed_to_another_host_or_path(status: int) -> None:
    """A kubelet behind the node proxy chooses what it answers."""
    async with FakeApiServer().running() as server, server.client() as client:
        server.script["/elsewhere"] = [Answer(b"{}")]
        for there in ("/elsewhere", f"{server.url}/elsewhere"):
            server.script["/x"] = [Answer(b"", status, headers={"Location": there})]
            with pytest.raises(ApiError) as caught:
                async with get(client, "/x", {}, TIMEOUTS):
                    pass
            assert caught.value.code == status
        assert {request.path for request in server.requests} == {"/x"}


async def test_a_cookie_of_a_kubelet_is_not_sent_to_the_api_server() -> None:
    """A kubelet behind the node proxy answers under the API server's name, for which clients keep cookies."""
    async with FakeApiServer().running() as server:
        server.url = server.url.replace("127.0.0.1", "localhost")  # no client keeps cookies of an address
        server.script["/api/v1/nodes/n/proxy/stats"] = [Answer(b"{}", headers={"Set-Cookie": "session=mine; Path=/"})]
        async with server.client() as client:
            for path in ("/api/v1/nodes/n/proxy/stats", "/api/v1/pods"):
                server.script[path] = server.script[path] or [Answer(b"{}")]
                async with get(client, path, {}, TIMEOUTS):
                    pass
        assert [request.cookie for request in server.requests] == ["", ""]


@pytest.mark.parametrize("ahead", [timedelta(hours=2), timedelta(hours=-2)])
async def test_clock_skew_against_the_api_server_is_measured(ahead: timedelta) -> None:
    there = format_datetime(datetime.now(UTC) - ahead, usegmt=True)
    await _ask(Answer(b"", headers={"Date": there}))
    measured = REGISTRY.get_sample_value("leadsman_clock_skew_seconds", {"server": "apiserver"})
    assert measured == pytest.approx(ahead.total_seconds(), abs=60)


@pytest.mark.parametrize("there", ["", "yesterday", "Thu, 99 Nov 2026 25:00:00 GMT", "Thu, 26 Nov 0000 00:00:00 GMT"])
async def test_an_answer_without_a_valid_date_is_accepted(there: str) -> None:
    assert await _ask(Answer(b"x", headers={"Date": there})) == b"x"


async def test_an_error_that_is_not_a_status_is_reported_on_one_safe_line() -> None:
    error = await _error(Answer(b"upstream\x1b[31m\ngone", 502))
    assert str(error) == "502 Bad Gateway: upstream\\x1b[31m\\ngone"
    assert not error.expired


async def test_a_version_is_expired_by_code_and_by_reason() -> None:
    assert (await _error(refusal(410, "Gone", ""))).expired
    assert (await _error(refusal(400, "Expired", ""))).expired
    assert not (await _error(refusal(404, "NotFound", ""))).expired


async def test_an_answer_past_the_limit_is_not_read() -> None:
    assert await _ask(Answer(b"x" * 1000)) == b"x" * 1000
    with pytest.raises(TooLargeError, match="/x"):
        await _ask(Answer(b"x" * 1001))


async def test_a_server_that_does_not_answer_is_described_without_python_s_words() -> None:
    async with ApiClient(Configuration(host="http://127.0.0.1:1")) as client:
        with pytest.raises(aiohttp.ClientConnectorError) as failure:
            async with get(client, "/x", {}, TIMEOUTS):
                pass
    assert describe_transport_error(failure.value) == "connection refused"
    assert describe_transport_error(aiohttp.ServerTimeoutError()) == "no answer in time"
    assert describe_transport_error(aiohttp.ServerDisconnectedError()) == "the connection was closed before an answer"


async def test_the_kernel_probes_the_peer_of_a_long_request() -> None:
    async with FakeApiServer().running() as server, server.client() as client:
        server.script["/x"] = [watching(b"\n")]
        async with get(client, "/x", {}, TIMEOUTS) as response:
            keep_alive(response)
            assert response.connection is not None
            assert response.connection.transport is not None
            sock = response.connection.transport.get_extra_info("socket")
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            idle = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
            probes = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT)
            interval = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL)
    assert idle + probes * interval < 120
