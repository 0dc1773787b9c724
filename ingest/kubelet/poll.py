"""Kubelets' statistics, settings and metrics, asked for at a steady pace (domain-reference A9, G)."""

import asyncio
import re
import zlib
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

import msgspec

from common.backoff import Backoff
from common.clock import Clock
from common.text import plain
from ingest.apiserver.requests import FORBIDDEN, TRANSPORT_ERRORS, UNAUTHORIZED, ApiError, TooLargeError
from ingest.model.observation import UNDECODABLE, Observation
from ingest.model.reports import Failure, Tally, error_observation
from ingest.normalize.normalize import KEPT_METRICS

SUMMARY: Final = "stats/summary"
CONFIGZ: Final = "configz"
METRICS: Final = "metrics"

BACKOFF_SECONDS: Final = 10.0
BACKOFF_LIMIT_SECONDS: Final = 300.0

_STARTED_AT: Final = re.compile(rb"\nprocess_start_time_seconds (\S+)")
_KEPT_LINE: Final = re.compile(rb"\n(%b[^\n]*)" % KEPT_METRICS.pattern.encode())
"""Both begin with a line break because a text is searched for the beginning of a pattern much faster than for `^`."""

Fetch = Callable[[str, str], Awaitable[bytes]]
"""(node, path under the kubelet's root) to the answer; raises ApiError, TooLargeError and transport errors."""
Emit = Callable[[Observation], Awaitable[None]]


class Pace(NamedTuple):
    """How often a kubelet is asked for what."""

    summary_seconds: float = 10.0
    metrics_seconds: float = 10.0
    configz_seconds: float = 600.0


class _Unreadable(ValueError):
    """An answer that is not what was asked for."""


class Kubelets:
    """Polls one kubelet in each task that runs `poll`; at most `in_flight` requests are out at a time.

    A quarter of them is for kubelets that failed last time, so that many that hang do not hold up the others.
    `heard` is called with the node's name for each statistic. The tally counts `observation`, `failure` and
    `restart` under `kubelet`.
    """

    def __init__(
        self,
        cluster: str,
        fetch: Fetch,
        emit: Emit,
        *,
        clock: Clock,
        tally: Tally,
        pace: Pace = Pace(),  # noqa: B008  # immutable
        in_flight: int = 64,
        heard: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._cluster = cluster
        self._fetch = fetch
        self._emit = emit
        self._clock = clock
        self._tally = tally
        self._pace = pace
        self._free = asyncio.Semaphore(max(1, in_flight - in_flight // 4))
        self._free_for_failing = asyncio.Semaphore(max(1, in_flight // 4))
        self._heard = heard

    async def poll(self, node: str) -> None:
        """Ask one kubelet for ever; a node keeps its own moment within the interval."""
        kubelet = _Kubelet(node, self._clock)
        await self._clock.sleep(offset_seconds(node, self._pace.summary_seconds))
        while True:
            began = self._clock.monotonic()
            try:
                await self._round(kubelet)
            except (ApiError, TooLargeError, _Unreadable, *TRANSPORT_ERRORS) as problem:
                await self._failed(kubelet, problem)
            else:
                kubelet.failure.recovered()
                spent = self._clock.monotonic() - began
                await self._clock.sleep(self._pace.summary_seconds - spent % self._pace.summary_seconds)

    async def _round(self, kubelet: "_Kubelet") -> None:
        """Ask for all that is due. After a failure or a restart the settings are due again."""
        await self._ask(kubelet, SUMMARY, _json_object)
        self._heard(kubelet.node)
        soon_seconds = self._pace.summary_seconds / 2
        if kubelet.is_due(METRICS, self._pace.metrics_seconds - soon_seconds):
            text = await self._ask(kubelet, METRICS, _metrics)
            if kubelet.has_restarted(text):
                self._tally["kubelet", "restart"] += 1
        if kubelet.is_due(CONFIGZ, self._pace.configz_seconds - soon_seconds):
            await self._ask(kubelet, CONFIGZ, _json_object)

    async def _ask(self, kubelet: "_Kubelet", resource: str, read: Callable[[bytes], bytes]) -> bytes:
        kubelet.asking = resource
        async with self._free_for_failing if kubelet.failure.text else self._free:
            body = await self._fetch(kubelet.node, resource)
        kubelet.asked(resource)
        await self._emit(
            Observation(
                ts=self._clock.now(),
                cluster=self._cluster,
                source="kubelet",
                resource=resource,
                type="SNAPSHOT",
                node=kubelet.node,
                object=msgspec.Raw(read(body)),
            )
        )
        self._tally["kubelet", "observation"] += 1
        return body

    async def _failed(self, kubelet: "_Kubelet", problem: Exception) -> None:
        self._tally["kubelet", "failure"] += 1
        kubelet.forget_settings()
        text = _reason(problem)
        if kubelet.failure.is_to_be_told(f"{kubelet.asking}: {text}"):
            told = error_observation(self._clock, self._cluster, "kubelet", kubelet.asking, text, kubelet.node)
            await self._emit(told)
        asked = problem.retry_after_seconds if isinstance(problem, ApiError) else 0.0
        await kubelet.backoff.wait(asked)


class _Kubelet:
    """What is known of one kubelet between rounds."""

    def __init__(self, node: str, clock: Clock) -> None:
        self.node = node
        self.asking = SUMMARY
        self.failure = Failure(clock)
        self.backoff = Backoff(clock, initial_seconds=BACKOFF_SECONDS, limit_seconds=BACKOFF_LIMIT_SECONDS)
        self._clock = clock
        self._asked_at: dict[str, float] = {}
        self._started_at = b""

    def is_due(self, resource: str, interval_seconds: float) -> bool:
        """Whether it was not asked for within the interval."""
        asked_at = self._asked_at.get(resource)
        return asked_at is None or self._clock.monotonic() - asked_at >= interval_seconds

    def asked(self, resource: str) -> None:
        self._asked_at[resource] = self._clock.monotonic()

    def forget_settings(self) -> None:
        self._asked_at.pop(CONFIGZ, None)

    def has_restarted(self, metrics: bytes) -> bool:
        """Whether the process is another one than in the round before; then its settings are due."""
        found = _STARTED_AT.search(b"\n" + metrics)
        before, self._started_at = self._started_at, found[1] if found else self._started_at
        if not before or before == self._started_at:
            return False
        self.forget_settings()
        return True


def offset_seconds(node: str, interval_seconds: float) -> float:
    """A node's moment within the interval, the same in every process, so that requests are spread evenly."""
    return zlib.crc32(node.encode()) / 2**32 * interval_seconds


def _json_object(body: bytes) -> bytes:
    """The answer as it came, which must be a JSON object."""
    try:
        msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except UNDECODABLE as error:
        raise _Unreadable(f"the answer is not a JSON object: {error}") from error
    return body


def _metrics(body: bytes) -> bytes:
    """The kept metrics as contract 1 has them: `{"text": ...}` in Prometheus exposition."""
    kept = b"".join(line + b"\n" for line in _KEPT_LINE.findall(b"\n" + body))
    return msgspec.json.encode({"text": kept.decode(errors="replace")})


def _reason(problem: Exception) -> str:
    if isinstance(problem, ApiError):
        remedy = {
            UNAUTHORIZED: ": check the credentials, and that the kubelet has webhook authentication",
            FORBIDDEN: ": allow get on nodes/proxy, nodes/stats and nodes/metrics in the ClusterRole",
        }
        return f"{problem}{remedy.get(problem.code, '')}"
    if isinstance(problem, TimeoutError):
        return "the kubelet did not answer in time"
    return f"{type(problem).__name__}: {plain(problem)}"
