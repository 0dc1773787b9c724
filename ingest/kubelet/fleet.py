"""Polls the kubelets of a cluster: one poll loop for each existing node, at its current address."""

from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec
import structlog
from kubernetes_asyncio.client.api_client import ApiClient
from kubernetes_asyncio.client.configuration import Configuration

from ingest.apiserver.emitting import Emitter
from ingest.apiserver.filters import metadata_of
from ingest.kubelet.access import Address, DirectAccess, fetch_by_proxy, kubelet_address
from ingest.kubelet.poll import Fetch, Kubelets
from ingest.kubelet.settings import KubeletSettings
from ingest.model.observation import Observation
from ingest.model.reports import Freshness

SILENCE_ROUNDS: Final = 6
"""A kubelet without an answer for this many intervals is silent."""

PROXY_RISK: Final = (
    "anyone with this account's get on nodes/proxy can run commands in every pod; watch.kubelet.access: direct needs "
    "nodes/stats, nodes/metrics and nodes/configz only"
)

log = structlog.get_logger(__name__)
Cancel: TypeAlias = Callable[[], object]


def stream_of(node: str) -> str:
    return f"kubelet/{node}"


async def kubelet_client(
    settings: KubeletSettings, access: Configuration, known: Callable[[str], Address | None], stack: AsyncExitStack
) -> Fetch:
    """Build the access to kubelets, open until the stack closes; `known` has addresses. Raises OSError for a bad
    CA.
    """
    if settings.access == "proxy":
        access.connection_pool_maxsize = max(access.connection_pool_maxsize, settings.in_flight)
        return partial(fetch_by_proxy, await stack.enter_async_context(ApiClient(access)))

    def address(node: str) -> Address | None:
        if given := settings.addresses.get(node):
            host, _, port = given.rpartition(":")
            return Address(host.strip("[]"), int(port))
        return known(node)

    direct = DirectAccess(access, address, settings.ca_file, insecure=settings.insecure)
    stack.push_async_callback(direct.close)
    return direct.fetch


class Fleet:
    """Starts and ends the polling of kubelets as nodes come and go."""

    def __init__(
        self,
        settings: KubeletSettings,
        emitter: Emitter,
        *,
        freshness: Freshness,
        spawn: Callable[[Coroutine[Any, Any, None]], Cancel],
    ) -> None:
        """`spawn` runs a coroutine in the background and returns its task."""
        self._settings = settings
        self._emitter = emitter
        self._clock = emitter.clock
        self._freshness = freshness
        self._spawn = spawn
        self._kubelets: Kubelets | None = None
        self._addresses: dict[str, Address] = {}
        self._polls: dict[str, Cancel] = {}

    async def connect(self, access: Configuration, stack: AsyncExitStack) -> None:
        """Open connections to kubelets until the stack closes. Raises OSError for an unreadable CA."""
        if self._settings.access == "off":
            return
        if self._settings.access == "proxy":
            log.warning("kubelets are polled through the API server", risk=PROXY_RISK)
        self._kubelets = Kubelets(
            await kubelet_client(self._settings, access, self._addresses.get, stack),
            self._emitter,
            seconds=self._settings.seconds(),
            in_flight=self._settings.in_flight,
            on_answer=lambda node: self._freshness.saw(stream_of(node), self._clock.now()),
        )

    def exists(self, name: str, node: msgspec.Raw) -> None:
        """Poll this node's kubelet at its current address."""
        address = kubelet_address(node)
        if address:
            self._addresses[name] = address
        if self._kubelets and name not in self._polls:
            silence_seconds = SILENCE_ROUNDS * self._settings.summary_seconds
            self._freshness.expect(stream_of(name), silence_seconds, self._clock.now())
            self._polls[name] = self._spawn(self._kubelets.poll(name))

    def changed(self, observation: Observation) -> None:
        """Handle news of a node. `exists` reports that it exists, but not that an earlier node of that name ended."""
        if observation.type == "DELETED":
            self._gone(metadata_of(observation.object).name)
        elif observation.type == "ADDED":
            self.exists(metadata_of(observation.object).name, observation.object)

    def _gone(self, node: str) -> None:
        self._addresses.pop(node, None)
        self._freshness.forget(stream_of(node))
        if cancel := self._polls.pop(node, None):
            cancel()
