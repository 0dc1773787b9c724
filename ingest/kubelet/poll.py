"""Polls kubelets' statistics, settings and metrics (rules: kubelet-metrics, recorded-behaviour)."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from http import HTTPStatus
from math import ceil
from typing import Any, Final, Literal, TypeAlias

import msgspec
import structlog
from kubernetes_asyncio.client.api_client import ApiClient
from kubernetes_asyncio.client.configuration import Configuration

from common.clock import Backoff, Clock
from common.cycles import forget_frames
from ingest.apiserver.changes import metadata_of
from ingest.apiserver.emitting import Emitter
from ingest.apiserver.requests import TRANSPORT_ERRORS, ApiError, TooLargeError, describe_transport_error
from ingest.kubelet.access import Address, DirectAccess, KubeletUnreachable, fetch_by_proxy, kubelet_address
from ingest.kubelet.settings import KubeletSettings
from ingest.model.observation import UNDECODABLE, Observation, if_decodable
from ingest.model.reports import Failure, Freshness
from ingest.resources.kubelet import CONFIGZ
from ingest.resources.resource import KubeletResource
from ingest.resources.stats_summary import STATS_SUMMARY
from ingest.resources.table import POLLED

BACKOFF_SECONDS: Final = 10.0
BACKOFF_LIMIT_SECONDS: Final = 300.0
FORBIDDEN_SECONDS: Final = 300.0
"""Time after which a refused request is tried again."""
SLOW_SECONDS: Final = 2.0
"""A kubelet that takes longer for an answer counts as slow."""
SLOW_FOR_SECONDS: Final = 300.0
TOGETHER_SECONDS: Final = 0.125
"""Kubelets are polled at multiples of this, because batches cost a sixth less than single wake-ups."""

Pace = Literal["quick", "slow", "failing"]
Fetch = Callable[[str, str], Awaitable[bytes]]
"""Maps (node, path below the kubelet's root) to the answer; raises ApiError, TooLargeError and transport errors."""


class _Unreadable(ValueError):
    """An answer does not have the expected form."""


class Kubelets:
    """Polls one kubelet in each task that runs `poll`, with at most `in_flight` requests at a time.

    A quarter of the slots is for kubelets that were slow recently, an eighth for those that failed last time. So
    kubelets that hang, or answer a byte at a time, do not delay others, and unreachable ones do not delay slow ones.
    Each of the three shares is first come, first served. `seconds` has the longest interval between two answers, by
    resource; statistics are requested in every round. `on_answer` is called with the node's name for each of them.
    The tally counts `observation`, `failure` and `restart` under `kubelet`.
    """

    def __init__(
        self,
        fetch: Fetch,
        emitter: Emitter,
        *,
        seconds: Mapping[str, float] | None = None,
        in_flight: int = 64,
        on_answer: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._fetch = fetch
        self._emitter = emitter
        self._clock = emitter.clock
        self._tally = emitter.tally
        self._seconds = seconds or {resource.name: resource.seconds for resource in POLLED}
        self._round_seconds = self._seconds[STATS_SUMMARY.name]
        slow, failing = max(1, in_flight // 4), max(1, in_flight // 8)
        self._free: Final[Mapping[Pace, asyncio.Semaphore]] = {
            "quick": asyncio.Semaphore(max(1, in_flight - slow - failing)),
            "slow": asyncio.Semaphore(slow),
            "failing": asyncio.Semaphore(failing),
        }
        self._on_answer = on_answer

    async def poll(self, node: str) -> None:
        """Poll one kubelet until cancelled, always at the node's own offset in the interval."""
        kubelet = _Kubelet(node, self._clock)
        begun = self._clock.monotonic()
        due_at = ceil(begun / TOGETHER_SECONDS) * TOGETHER_SECONDS + offset_seconds(node, self._round_seconds)
        await self._clock.sleep(due_at - begun)
        while True:
            try:
                for resource in POLLED:  # a refused resource does not delay others
                    await self._ask_where_due(kubelet, resource)
            except (ApiError, TooLargeError, _Unreadable, *TRANSPORT_ERRORS) as problem:
                forget_frames(problem)
                await self._failed(kubelet, problem)
            else:
                kubelet.failure.recovered()
                late = self._clock.monotonic() - due_at
                due_at += self._round_seconds * (late // self._round_seconds + 1)
                await self._clock.sleep(due_at - self._clock.monotonic())

    async def _ask_where_due(self, kubelet: "_Kubelet", resource: KubeletResource[Any]) -> None:
        if not kubelet.is_due(resource.name):
            return
        try:
            await self._ask(kubelet, resource)
        except ApiError as problem:
            if problem.code != HTTPStatus.FORBIDDEN:
                raise
            kubelet.asked(resource.name, FORBIDDEN_SECONDS)
            text = (
                f"{problem}: {resource.without}. Allow get on {resource.permission} in the ClusterRole, or on "
                "nodes/proxy where kubelets are polled through the API server"
            )
            await self._report(kubelet, kubelet.forbidden[resource.name], text)

    async def _ask(self, kubelet: "_Kubelet", resource: KubeletResource[Any]) -> None:
        kubelet.asking = resource.name
        body = await self._fetched(kubelet, resource.name)
        kubelet.asked(resource.name, self._seconds[resource.name] - self._round_seconds / 2)
        kubelet.forbidden[resource.name].recovered()
        data = resource.read(body)
        decoded = _decoded(resource, data)
        if resource is STATS_SUMMARY and kubelet.is_new:
            kubelet.is_new = False  # even if this fails, because statistics wait for settings only once
            await self._ask_where_due(kubelet, CONFIGZ)  # or the first sample would be judged by default thresholds
        await self._emitter.answer("kubelet", resource.name, data, decoded, kubelet.node)
        self._tally["kubelet", "observation"] += 1
        if resource is STATS_SUMMARY:
            self._on_answer(kubelet.node)
            kubelet.has_pods([pod.pod_ref.uid for pod in decoded.pods or ()] if decoded else [])
        if kubelet.has_restarted(resource.started_at(body)):
            self._tally["kubelet", "restart"] += 1

    async def _fetched(self, kubelet: "_Kubelet", path: str) -> bytes:
        async with self._free[kubelet.pace]:
            begun = self._clock.monotonic()
            try:
                return await self._fetch(kubelet.node, path)
            finally:
                kubelet.took(self._clock.monotonic() - begun)

    async def _failed(self, kubelet: "_Kubelet", problem: Exception) -> None:
        kubelet.forget()
        await self._report(kubelet, kubelet.failure, _reason(problem))
        asked = problem.retry_after_seconds if isinstance(problem, ApiError) else 0.0
        await kubelet.backoff.wait(asked)

    async def _report(self, kubelet: "_Kubelet", failure: Failure, text: str) -> None:
        self._tally["kubelet", "failure"] += 1
        if failure.should_report(f"{kubelet.asking}: {text}"):
            await self._emitter.error("kubelet", kubelet.asking, text, kubelet.node)


class _Kubelet:
    def __init__(self, node: str, clock: Clock) -> None:
        self.node = node
        self.is_new = True
        self.asking = STATS_SUMMARY.name
        self.failure = Failure(clock)
        self.forbidden = {resource.name: Failure(clock) for resource in POLLED}
        self.backoff = Backoff(clock, initial_seconds=BACKOFF_SECONDS, limit_seconds=BACKOFF_LIMIT_SECONDS)
        self._clock = clock
        self._due_at: dict[str, float] = {}
        self._started_at = b""
        self._slow_until = 0.0
        self._pods = 0
        """A hash of their uids."""

    @property
    def pace(self) -> Pace:
        return "failing" if self.failure.text else "slow" if self.is_slow else "quick"

    @property
    def is_slow(self) -> bool:
        """Tell whether it recently let a request wait, whether it then answered or not."""
        return self._clock.monotonic() < self._slow_until

    def took(self, seconds: float) -> None:
        if seconds > SLOW_SECONDS:
            self._slow_until = self._clock.monotonic() + SLOW_FOR_SECONDS

    def is_due(self, resource: str) -> bool:
        due_at = self._due_at.get(resource)
        return due_at is None or self._clock.monotonic() >= due_at

    def asked(self, resource: str, again_seconds: float) -> None:
        """Record that it was asked, and when it is due again."""
        self._due_at[resource] = self._clock.monotonic() + again_seconds

    def has_pods(self, uids: Iterable[str]) -> None:
        """Record the current pods, in any order. If they changed, resources that depend on pods are due."""
        before, self._pods = self._pods, hash(frozenset(uids))
        if before != self._pods:
            for resource in POLLED:
                if resource.after_change:
                    self._due_at.pop(resource.name, None)

    def forget(self) -> None:
        for resource in POLLED:
            if resource.after_restart:
                self._due_at.pop(resource.name, None)

    def has_restarted(self, started_at: bytes) -> bool:
        """Note when the kubelet started. Return True if it is known to have restarted: its settings are then due."""
        before, self._started_at = self._started_at, started_at or self._started_at
        if not before or before == self._started_at:
            return False
        self.forget()
        return True


def offset_seconds(node: str, interval_seconds: float) -> float:
    """Return a node's offset in the interval: a multiple of TOGETHER_SECONDS, evenly distributed, and always the
    same.
    """
    return zlib.crc32(node.encode()) / 2**32 * interval_seconds // TOGETHER_SECONDS * TOGETHER_SECONDS


def _decoded(resource: KubeletResource[Any], data: bytes) -> Any:
    """Decode an answer; None if it is an object that does not fit its resource's schema."""
    if (decoded := if_decodable(resource.decode, data)) is None:
        try:
            msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        except UNDECODABLE as error:
            raise _Unreadable(f"the answer is not a JSON object: {error}") from error
    return decoded


def _reason(problem: Exception) -> str:
    if isinstance(problem, ApiError):
        remedy = ": check the credentials, and that the kubelet has webhook authentication"
        return f"{problem}{remedy if problem.code == HTTPStatus.UNAUTHORIZED else ''}"
    if isinstance(problem, KubeletUnreachable):
        return str(problem)
    if isinstance(problem, TimeoutError):
        return "the kubelet did not answer in time"
    return describe_transport_error(problem)


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
    """Build the access to kubelets, open as long as the stack; `known` has addresses. Raises OSError for a bad CA."""
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
    """Begins and ends the polling of kubelets as nodes come and go."""

    def __init__(
        self,
        settings: KubeletSettings,
        emitter: Emitter,
        *,
        freshness: Freshness,
        spawn: Callable[[Coroutine[Any, Any, None]], Cancel],
    ) -> None:
        """`spawn` runs a coroutine beside all others and gives what ends it."""
        self._settings = settings
        self._emitter = emitter
        self._clock = emitter.clock
        self._freshness = freshness
        self._spawn = spawn
        self._kubelets: Kubelets | None = None
        self._addresses: dict[str, Address] = {}
        self._polls: dict[str, Cancel] = {}

    async def connect(self, access: Configuration, stack: AsyncExitStack) -> None:
        """Open what is needed to ask kubelets, for as long as the stack lasts; OSError for an unreadable CA."""
        if self._settings.access == "off":
            return
        if self._settings.access == "proxy":
            log.warning("kubelets are asked through the API server", risk=PROXY_RISK)
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
