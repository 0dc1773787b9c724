"""Reads the Lease of each node that is not Ready, once (delivery.md#watching, rules: nodes-that-do-not-report).

Watching all Leases would be costly: each kubelet renews its own every 10 s.
"""

import asyncio
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import aiohttp
from kubernetes_asyncio.client.api_client import ApiClient

from common.clock import Backoff
from ingest.apiserver.emitting import Emitter
from ingest.apiserver.requests import TRANSPORT_ERRORS, ApiError, TooLargeError, get, read_body
from ingest.model.objects.node import Node
from ingest.model.observation import UNDECODABLE
from ingest.resources.nodes import NAMESPACE, NODE_LEASES

PATH: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
PAUSE_SECONDS: Final = 0.02
"""Interval between reads: at most 50 Leases a second, one at a time, however many nodes fail at once."""
WITHOUT: Final = "the age of the Lease of a NotReady node is unknown"
_CACHED: Final = {"resourceVersion": "0"}
"""Lets the API server answer from its watch cache."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=15)
_LIMIT_BYTES: Final = 1024 * 1024


class NodeLeases:
    """Reads Leases. The tally counts `observation`, `absent`, `forbidden` and `failure` under `node_leases`."""

    def __init__(self, client: ApiClient, emitter: Emitter) -> None:
        self._client = client
        self._emitter = emitter
        self._backoff = Backoff(emitter.clock)
        self._not_ready: dict[str, str] = {}
        """The status of Ready, by node."""
        self._due: dict[str, None] = {}
        self._is_due = asyncio.Event()
        self._is_reported = False

    def gone(self, name: str) -> None:
        """Forget a deleted node, because the next node with this name is another one."""
        self._not_ready.pop(name, None)
        self._due.pop(name, None)

    def changed(self, node: Node) -> None:
        """Read a node's Lease if its Ready became False or Unknown, or is first seen with that status."""
        name = node.metadata.name
        ready = next((each.status for each in node.status.conditions or () if each.type == "Ready"), "Unknown")
        if ready == "True":
            self.gone(name)
        elif self._not_ready.get(name) != ready:
            self._not_ready[name] = ready
            self._due[name] = None
            self._is_due.set()

    async def run(self) -> None:
        """Read Leases until cancelled; a failure is retried while the node is not Ready."""
        while True:
            await self._is_due.wait()
            while self._due:
                name = next(iter(self._due))
                del self._due[name]
                await self._look(name)
                await self._emitter.clock.sleep(PAUSE_SECONDS)
            self._is_due.clear()

    async def _look(self, name: str) -> None:
        try:
            async with get(self._client, f"{PATH}/{quote(name, safe='')}", _CACHED, _TIMEOUT) as response:
                body = await read_body(response, _LIMIT_BYTES)
            decoded = NODE_LEASES.decode(body)
        except ApiError as error:
            await self._refused(name, error)
        except TRANSPORT_ERRORS:
            await self._later(name)
        except (TooLargeError, *UNDECODABLE):
            self._count("failure")
        else:
            self._count("observation")
            await self._emitter.answer("list", NODE_LEASES.name, body, decoded)

    async def _refused(self, name: str, error: ApiError) -> None:
        if error.code == HTTPStatus.NOT_FOUND:
            self._count("absent")
        elif error.code == HTTPStatus.FORBIDDEN:
            self._count("forbidden")
            self._due.clear()
            await self._report_refusal()
        else:
            await self._later(name, error.retry_after_seconds)

    async def _report_refusal(self) -> None:
        """Report a refusal once, because nothing else depends on it."""
        if not self._is_reported:
            self._is_reported = True
            text = f"get leases in {NAMESPACE} is not allowed: {WITHOUT}"
            await self._emitter.error("list", NODE_LEASES.name, text)

    async def _later(self, name: str, at_least_seconds: float = 0.0) -> None:
        self._count("failure")
        await self._backoff.wait(at_least_seconds)
        if name in self._not_ready:
            self._due[name] = None

    def _count(self, happening: str) -> None:
        self._emitter.tally[NODE_LEASES.name, happening] += 1
