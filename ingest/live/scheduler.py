"""Reads a scheduler's metrics for the number of nodes in its cache and of pods in its queues
(rules: scheduler-cache).
"""

import re
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import aiohttp
import msgspec
from kubernetes_asyncio.client.configuration import Configuration

from common.clock import steadily
from common.settings import SettingsError
from common.text import plain
from ingest.apiserver.emitting import Emitter
from ingest.apiserver.requests import TRANSPORT_ERRORS, ApiError, TooLargeError, describe_transport_error
from ingest.kubelet.access import Https
from ingest.live.settings import LiveSettings
from ingest.model.reports import Failure
from ingest.resources.scheduler_cache import SCHEDULER_CACHE, SIZE, of_queues

FILLING_SECONDS: Final = 60.0
"""A scheduler that started more recently may not know all nodes yet, because its port answers before its first
list.
"""
HELD_SECONDS: Final = 80.0
"""Time for which a differing number waits for the watch of nodes: a bookmark comes about every minute.

Together with the request, at most HELD in `streams.analytics.scheduling.caches`.
"""
BEHIND: Final = timedelta(seconds=1)
"""Maximum lag of our watch of nodes behind the scheduler's, which may use another API server."""
KnownNodes: TypeAlias = Callable[[], tuple[int, datetime | None]]
"""Returns the number of nodes, and the time until which all their changes were seen."""
_STARTED_AT: Final = re.compile(
    r"^process_start_time_seconds (\d{1,20}(?:\.\d{1,20})?(?:e\+\d{1,2})?)\r?$", re.MULTILINE
)


class CacheUnknown(Exception):
    """A scheduler does not show its cache; the message is one safe line."""


async def cache_line(https: Https, url: str, now: datetime) -> str:
    """Return the scheduler's metrics about its queues and, last, its number of nodes. Raises CacheUnknown."""
    try:
        metrics = (await https.get(f"https://{host_of(url)}/metrics")).decode(errors="replace")
    except ApiError as error:
        cure = ": allow get on the nonResourceURL /metrics" if error.code == HTTPStatus.FORBIDDEN else ""
        raise CacheUnknown(f"{error}{cure}") from error
    except (TooLargeError, *TRANSPORT_ERRORS) as error:
        untrusted = isinstance(error, aiohttp.ClientConnectorCertificateError)
        cure = ": name the CA that signed it (watch.scheduler.ca_file)" if untrusted else ""
        raise CacheUnknown(f"{describe_transport_error(error)}{cure}") from error
    size, started_at = SIZE.search(metrics), _STARTED_AT.search(metrics)
    if size is None:
        raise CacheUnknown("its metrics have no scheduler_cache_size")
    if started_at and abs(now.timestamp() - float(started_at[1])) < FILLING_SECONDS:  # its clock may be ahead
        raise CacheUnknown("it started less than a minute ago, and may not know all nodes yet")
    if size[1] == "0":
        raise CacheUnknown("its cache has no nodes: it may not list them, or fills it once it leads")
    return "".join(f"{each[0].rstrip()}\n" for each in (*of_queues(metrics), size))


def host_of(url: str) -> str:
    """Return the `host:port` of a URL, which identifies a scheduler."""
    return urlsplit(url).netloc


class Scheduler:
    """Polls one scheduler; the tally counts `observation` and `failure` under `scheduler`."""

    def __init__(self, url: str, https: Https, emitter: Emitter, seen: KnownNodes) -> None:
        self.host = host_of(url)
        self.failure = Failure(emitter.clock)
        self._url = url
        self._https = https
        self._emitter = emitter
        self._clock = emitter.clock
        self._seen = seen

    async def poll(self, seconds: float) -> None:
        """Poll until cancelled, first after one interval, when the nodes for comparison are listed."""
        await self._clock.sleep(seconds)
        await steadily(seconds, self._ask, self._clock)

    async def _ask(self) -> None:
        asked_at = self._clock.now()
        try:
            line = await cache_line(self._https, self._url, asked_at)
            await self._comparable(line, asked_at)
        except CacheUnknown as problem:
            self._emitter.tally["scheduler", "failure"] += 1
            if self.failure.should_report(str(problem)):
                await self._emitter.error("list", SCHEDULER_CACHE.name, f"scheduler {self.host}: {problem}")
            return
        self.failure.recovered()
        self._emitter.tally["scheduler", "observation"] += 1
        answer = msgspec.json.encode({"text": line, "scheduler": self.host})
        await self._emitter.answer("list", SCHEDULER_CACHE.name, answer)

    async def _comparable(self, line: str, asked_at: datetime) -> None:
        """Return once the nodes for comparison are known. Raises CacheUnknown if they stay unknown.

        A scheduler may learn of a node before Leadsman, or while Leadsman's watch is silent. That is not a fault of
        its cache.
        """
        until = self._clock.monotonic() + HELD_SECONDS
        while True:
            nodes, seen_until = self._seen()
            if line.endswith(f" {nodes}\n") or (seen_until and seen_until >= asked_at + BEHIND):
                return
            if self._clock.monotonic() >= until:
                raise CacheUnknown("no news of nodes since the request: there is nothing to compare with")
            await self._clock.sleep(BEHIND.total_seconds())


def scheduler_client(settings: LiveSettings, access: Configuration, stack: AsyncExitStack) -> Https:
    """Build the access to schedulers, open until the stack closes; raises SettingsError for an unusable CA."""
    section = settings.scheduler
    try:
        https = Https(access, section.ca_file, insecure=section.insecure)
    except OSError as error:
        named = f"watch.scheduler.ca_file: {plain(section.ca_file)} cannot be used" if section.ca_file else "no CA"
        raise SettingsError(f"{named}: {error.strerror}") from error
    stack.push_async_callback(https.close)
    return https


def schedulers(
    settings: LiveSettings, access: Configuration, emitter: Emitter, seen: KnownNodes, stack: AsyncExitStack
) -> list[Scheduler]:
    if not settings.schedulers:
        return []
    https = scheduler_client(settings, access, stack)
    return [Scheduler(url, https, emitter, seen) for url in settings.schedulers]
