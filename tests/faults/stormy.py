"""A proxy before an API server that, while a storm lasts, answers everything with 410 or 429."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Self

import aiohttp
import msgspec
from aiohttp import web

from components.cluster.kubernetes import Cluster
from components.processes import HOST
from fakes.apiserver import event, status_body

REASONS: Final = {410: "Expired", 429: "TooManyRequests"}
LINE_BYTES: Final = 4 * 1024 * 1024


class Stormy:
    """Passes GET requests on to a control plane, with its certificate; `requests` counts those of lists and
    watches: of nodes that other tests left, the Lease is asked for too, once each.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.requests = 0
        self.port = 0
        self._cluster = cluster
        self._status = 0
        self._begun = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        trusted = ssl.create_default_context(cafile=str(self._cluster.ca_file))
        connector = aiohttp.TCPConnector(ssl=trusted)
        own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        own.load_cert_chain(self._cluster.ca_file, self._cluster.ca_file.with_suffix(".key"))
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        async with aiohttp.ClientSession(connector=connector, read_bufsize=LINE_BYTES) as self._session:
            await runner.setup()
            try:
                await web.TCPSite(runner, HOST, 0, ssl_context=own).start()
                self.port = runner.addresses[0][1]
                yield self
            finally:
                await runner.cleanup()

    def begin(self, status: int) -> None:
        """Answer with this status, and end open watches with it, until `end`."""
        self._status = status
        self._begun.set()

    def end(self) -> None:
        self._status = 0
        self._begun.clear()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests += "/leases/" not in request.path
        if self._status:
            headers = {"Retry-After": "1"} if self._status == web.HTTPTooManyRequests.status_code else {}
            return web.Response(status=self._status, body=self._refusal(), headers=headers)
        headers = {"Authorization": request.headers["Authorization"]}
        timeout = aiohttp.ClientTimeout(total=None)
        try:
            url = f"{self._cluster.url}{request.path_qs}"
            async with self._session.get(url, headers=headers, timeout=timeout) as found:
                if request.query.get("watch") == "true":
                    return await self._watch(request, found)
                return web.Response(status=found.status, body=await found.read())
        except aiohttp.ClientError:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=web.HTTPBadGateway.status_code)

    async def _watch(self, request: web.Request, found: aiohttp.ClientResponse) -> web.StreamResponse:
        response = web.StreamResponse(status=found.status)
        await response.prepare(request)
        storm = asyncio.ensure_future(self._begun.wait())
        line = asyncio.ensure_future(found.content.readline())
        try:
            while True:
                await asyncio.wait([storm, line], return_when=asyncio.FIRST_COMPLETED)
                if storm.done():
                    await response.write(event("ERROR", msgspec.Raw(self._refusal())))
                    return response
                if not line.result():
                    return response
                await response.write(line.result())
                line = asyncio.ensure_future(found.content.readline())
        finally:
            storm.cancel()
            line.cancel()

    def _refusal(self) -> bytes:
        return status_body(self._status, REASONS[self._status], "a storm")
