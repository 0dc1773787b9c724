"""Sends requests to the API server, and returns unparsed answers, or errors with the server's retry hints."""

import errno
import os
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

import aiohttp
import msgspec
from kubernetes_asyncio.client.api_client import ApiClient

from common.amounts import size
from common.clock import SYSTEM, retry_after_seconds
from common.skew import Skew
from common.text import plain
from ingest.apiserver import client_fixes
from ingest.model.observation import if_decodable

BODY_LIMIT_BYTES: Final = 1024 * 1024 * 1024
"""Maximum size of an answer. A list of 150,000 pods at version "0" comes as one page from the watch cache."""
ERROR_BODY_LIMIT_BYTES: Final = 64 * 1024
RETRY_AFTER_LIMIT_SECONDS: Final = 300.0

KEEPALIVE_SECONDS: Final = 20
"""A dead peer is detected after this time and three more probes."""

TRANSPORT_ERRORS: Final = (aiohttp.ClientError, TimeoutError, OSError)
"""Errors that a connection raises, including those of certificates and invalid HTTP."""
_SKEW: Final = Skew("apiserver")


class _Cause(msgspec.Struct, frozen=True):
    reason: str = ""


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    causes: list[_Cause] | None = None
    retry_after_seconds: float | None = None


class Status(msgspec.Struct, frozen=True):
    """Kubernetes' `Status`: an error answer, or the object of a watch event of type ERROR."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


decode_status: Final = msgspec.json.Decoder(Status).decode


class ApiError(Exception):
    """The server answered with an error; the message is one safe line."""

    def __init__(self, status: Status, retry_after_seconds: float = 0.0) -> None:
        super().__init__(plain(f"{status.code} {status.reason or 'error'}: {status.message}"))
        self.code = status.code
        self._status = status
        asked = (status.details and status.details.retry_after_seconds) or retry_after_seconds
        self.retry_after_seconds = min(max(asked, 0.0), RETRY_AFTER_LIMIT_SECONDS)

    @property
    def expired(self) -> bool:
        """True if the version is too old (rules: list-and-watch)."""
        return self.code == HTTPStatus.GONE or self._status.reason in {"Expired", "Gone"}

    @property
    def too_large_version(self) -> bool:
        """True if the version is newer than the server's data, for example after a restored backup."""
        causes = (self._status.details and self._status.details.causes) or []
        return (
            any(cause.reason == "ResourceVersionTooLarge" for cause in causes)
            or "Too large resource version" in self._status.message
        )

    @property
    def throttled(self) -> bool:
        return self.code == HTTPStatus.TOO_MANY_REQUESTS


class TooLargeError(Exception):
    """An answer exceeds the limit."""


def describe_transport_error(error: Exception) -> str:
    """Describe one of `TRANSPORT_ERRORS` in words, such as connection refused, without Python's class names."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = getattr(error.certificate_error, "verify_message", "") or error.certificate_error
        return f"its certificate is not trusted ({plain(why)})"
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    number = cause.errno if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) else None
    if number is not None and number in errno.errorcode:
        return os.strerror(number).lower()
    for kind, text in _UNANSWERED:
        if isinstance(cause, kind):
            return text
    return plain(getattr(cause, "strerror", "") or cause) or "the connection failed"


_UNANSWERED: Final[tuple[tuple[type[Exception], str], ...]] = (
    (TimeoutError, "no answer in time"),
    (aiohttp.ServerDisconnectedError, "the connection was closed before an answer"),
    (aiohttp.ClientPayloadError, "the answer was cut off"),
    (ConnectionResetError, "connection reset by peer"),
    (ConnectionRefusedError, "connection refused"),
)
"""Words for errors without an errno."""


@asynccontextmanager
async def get(
    client: ApiClient, path: str, query: Mapping[str, str], timeouts: aiohttp.ClientTimeout
) -> AsyncIterator[aiohttp.ClientResponse]:
    """GET a path with the current token. Raises ApiError for any status but 200, and `TRANSPORT_ERRORS`."""
    async with request(client, "GET", path, query=query, timeouts=timeouts) as response:
        yield response


@asynccontextmanager
async def request(
    client: ApiClient,
    method: str,
    path: str,
    *,
    timeouts: aiohttp.ClientTimeout,
    query: Mapping[str, str] | None = None,
    body: object = None,
) -> AsyncIterator[aiohttp.ClientResponse]:
    """Send a request whose body, if any, is JSON; raises ApiError for any status but 200 and 201."""
    client_fixes.ignore_redirects_and_cookies(client)
    asked_at = SYSTEM.now()
    response: aiohttp.ClientResponse = await client.call_api(
        path,
        method,
        query_params=list((query or {}).items()),
        header_params={"Accept": "application/json"},
        body=body,
        auth_settings=["BearerToken"],
        _preload_content=False,
        _request_timeout=timeouts,
    )
    if (there := answered_at(response)) is not None:
        _SKEW.measure(asked_at, there, SYSTEM.now())
    try:
        if response.status not in {HTTPStatus.OK, HTTPStatus.CREATED}:
            raise await api_error(response)
        yield response
    finally:
        response.close()


def answered_at(response: aiohttp.ClientResponse) -> datetime | None:
    """Return when the server answered, by its own clock; None if the answer has no date."""
    with suppress(ValueError):
        there = parsedate_to_datetime(response.headers.get("Date", ""))
        return there if there.tzinfo else there.replace(tzinfo=UTC)
    return None


async def read_body(response: aiohttp.ClientResponse, limit_bytes: int = BODY_LIMIT_BYTES) -> bytes:
    """Read the whole answer; raises TooLargeError past the limit."""
    chunks: list[bytes] = []
    size_bytes = 0
    async for chunk in response.content.iter_any():
        size_bytes += len(chunk)
        if size_bytes > limit_bytes:
            raise TooLargeError(f"answer of more than {size(limit_bytes)} to {plain(response.url.path)}")
        chunks.append(chunk)
    return b"".join(chunks)


async def api_error(response: aiohttp.ClientResponse) -> ApiError:
    """Return the error of an answer, even if its body is not a `Status`."""
    body = (await response.content.read(ERROR_BODY_LIMIT_BYTES)).strip()
    status = if_decodable(decode_status, body) or Status(message=body.decode(errors="replace"))
    status = msgspec.structs.replace(status, code=response.status, reason=status.reason or response.reason or "")
    return ApiError(status, retry_after_seconds(response.headers))


def keep_alive(response: aiohttp.ClientResponse) -> None:
    """Turn on TCP keepalive, so that the kernel notices a dead peer on an idle connection."""
    transport = response.connection.transport if response.connection else None
    sock = transport.get_extra_info("socket") if transport else None
    if sock is None:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_SECONDS)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_SECONDS)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
