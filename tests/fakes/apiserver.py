"""A server on a loopback port that answers each path from a script and remembers what it was asked."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import msgspec
from aiohttp import web
from kubernetes_asyncio.client.api_client import ApiClient
from kubernetes_asyncio.client.configuration import Configuration

from fakes.serving import serving


class Answer(NamedTuple):
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012  # never changed
    hang: bool = False
    """Keep the connection open after the body, without another byte."""
    cut: bool = False
    """Close the connection after the body, without the end of the answer."""
    first: Callable[[], None] = lambda: None
    """Called before the answer begins."""
    last: Callable[[], Awaitable[None]] | None = None
    """Awaited after the body."""


class Request(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    authorization: str
    body: Any
    cookie: str = ""


class FakeApiServer:
    """`script[path]` is a list of answers, taken one a request; the last one stays."""

    def __init__(self) -> None:
        self.script: dict[str, list[Answer]] = defaultdict(list)
        self.requests: list[Request] = []
        self.url = ""
        self._ended = asyncio.Event()

    def client(self, token: str = "") -> ApiClient:
        configuration = Configuration()
        configuration.host = self.url
        if token:
            configuration.api_key["BearerToken"] = f"Bearer {token}"
        return ApiClient(configuration)

    def asked(self, path: str) -> list[dict[str, str]]:
        """The queries of the requests for a path, in order."""
        return [request.query for request in self.requests if request.path == path]

    @asynccontextmanager
    async def running(self) -> AsyncIterator["FakeApiServer"]:
        async with serving(self._answer) as self.url:
            try:
                yield self
            finally:
                self._ended.set()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.requests.append(
            Request(
                request.method,
                request.path,
                dict(request.query),
                request.headers.get("Authorization", ""),
                msgspec.json.decode(raw) if raw else None,
                request.headers.get("Cookie", ""),
            )
        )
        answers = self.script[request.path]
        if not answers:
            return web.Response(status=404, body=status_body(404, "NotFound", "no such path"))
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        answer.first()
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        response.enable_chunked_encoding()
        await response.prepare(request)
        if answer.body:
            await response.write(answer.body)
        if answer.last:
            await answer.last()
        if answer.hang:
            await self._ended.wait()
        if answer.cut and request.transport:
            request.transport.close()
        with suppress(ConnectionResetError):
            await response.write_eof()
        return response


def status_body(code: int, reason: str, message: str, **details: Any) -> bytes:
    return msgspec.json.encode(
        {
            "kind": "Status",
            "status": "Failure",
            "code": code,
            "reason": reason,
            "message": message,
            "details": details,
        }
    )


def refusal(code: int, reason: str, message: str, headers: dict[str, str] | None = None, **details: Any) -> Answer:
    return Answer(status_body(code, reason, message, **details), code, headers or {})


def listing(version: str, objects: Sequence[Any], rest: str = "") -> Answer:
    metadata = {"resourceVersion": version, **({"continue": rest} if rest else {})}
    return Answer(msgspec.json.encode({"kind": "PodList", "metadata": metadata, "items": objects}))


def event(change: str, thing: Any) -> bytes:
    return msgspec.json.encode({"type": change, "object": thing}) + b"\n"


def bookmark(version: str) -> bytes:
    return event("BOOKMARK", {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": version}})


def watching(*lines: bytes, hang: bool = True) -> Answer:
    return Answer(b"".join(lines), hang=hang)


def pod(name: str, version: str, node: str = "", **status: Any) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": version},
        "spec": {"nodeName": node, "containers": [{"name": "c", "env": [{"name": "A", "value": "b"}]}]},
        "status": {"phase": "Running", **status},
    }
