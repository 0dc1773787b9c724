"""Runs all live sources of one cluster as one stream of observations."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple

from kubernetes_asyncio.client.api_client import ApiClient
from kubernetes_asyncio.client.configuration import Configuration

from common.clock import SYSTEM, Clock
from common.tasks import Spawn, Tasks
from common.telemetry import Figure, Values, registered
from common.text import plain
from ingest.apiserver.changes import metadata_of
from ingest.apiserver.connect import configuration
from ingest.apiserver.emitting import Emitter
from ingest.apiserver.node_leases import NodeLeases
from ingest.apiserver.versions import NOT_KEPT, Acknowledgements, StoredVersions, Ticket, VersionFile
from ingest.apiserver.watch import Watch
from ingest.kubelet.poll import Fleet
from ingest.live.scheduler import Scheduler, schedulers
from ingest.live.settings import LiveSettings
from ingest.model.observation import Observation
from ingest.model.reports import Freshness, Report, Silence, Tally, bookmark_observation, error_observation
from ingest.normalize.redact import Received
from ingest.resources.nodes import NODES
from ingest.resources.resource import ApiResource
from ingest.resources.stats_summary import STATS_SUMMARY

HAPPENINGS: Final = Figure("source_happenings", "counter", "Events at the sources, by kind", ("stream", "what"))
STREAM_AGE: Final = Figure(
    "stream_age_seconds", "gauge", "Seconds since a stream last sent data; for kubelets, the longest", ("stream",)
)
DEGRADED: Final = Figure("stream_degraded", "gauge", "1 for a stream that cannot be read now", ("stream",))
KUBELETS: Final = Figure("kubelets", "gauge", "Kubelets that are polled, and silent ones", ("state",))


WATCH_SILENCE_SECONDS: Final = 120.0
"""Bookmarks come about every minute; reopening a silent watch is not a sign of life."""
CHECK_SECONDS: Final = 5.0
BOOKMARK_SECONDS: Final = 60.0
SAVE_SECONDS: Final = 1.0


class Delivery(NamedTuple):
    """An observation that must be acknowledged once it is safely stored."""

    received: Received
    ticket: Ticket | None
    """None if no stream resumes after this observation."""
    strict: bool = False

    @property
    def observation(self) -> Observation:
        """Return the observation without secrets; if `strict`, also without texts that no known component writes."""
        return self.received.redacted(strict=self.strict)


class Live:
    """Runs the sources of one cluster; `tally` counts events by stream."""

    def __init__(
        self, settings: LiveSettings, access: Configuration, kept: StoredVersions = NOT_KEPT, clock: Clock = SYSTEM
    ) -> None:
        self.tally: Tally = Counter()
        self._settings = settings
        self._access = access
        self._clock = clock
        self._save_versions = kept.save
        self._saved = kept.versions
        self._save_failure = ""
        self._acknowledgements = Acknowledgements(self._saved)
        self._freshness = Freshness()
        self._reported: dict[str, datetime] = {}
        """When each watch last reported a failure, or that it was complete."""
        self._queue: asyncio.Queue[Delivery] = asyncio.Queue(settings.queue_observations)
        self._spawn: Spawn
        """Set while `deliveries` runs."""
        self._watches: dict[str, Watch] = {}
        self._schedulers: list[Scheduler] = []
        self._nodes_known = asyncio.Event()
        """Set once the first list of Nodes has ended or failed: other objects are judged by the existing Nodes."""
        self._emitter = Emitter(settings.cluster, self._emit, clock, self.tally)
        self._fleet = Fleet(
            settings.kubelet, self._emitter, freshness=self._freshness, spawn=lambda work: self._spawn(work).cancel
        )

    @classmethod
    async def connect(
        cls, settings: LiveSettings, kept: StoredVersions = NOT_KEPT, *, clock: Clock = SYSTEM
    ) -> "Live":
        """Read the credentials, and the versions file, if any. Raises SourceUnusable."""
        access = await configuration(settings.kubeconfig, settings.context)
        if settings.versions_file:
            kept = VersionFile(settings.versions_file, settings.scope).kept()
        return cls(settings, access, kept, clock)

    def degraded(self) -> dict[str, str]:
        """Return the reason for each unreadable stream; missing custom resources are left out."""
        streams = {name: watch.failure.text for name, watch in self._watches.items()}
        streams |= {f"scheduler/{each.host}": each.failure.text for each in self._schedulers}
        return {name: text for name, text in {**streams, "versions": self._save_failure}.items() if text}

    def is_listed(self, resources: Collection[str] = ()) -> bool:
        """Tell whether each readable stream, or each of `resources`, was read once."""
        waiting = (
            watch
            for name, watch in self._watches.items()
            if not watch.absent and not watch.failure.text and (not resources or name in resources)
        )
        return bool(self._watches) and all(watch.complete_at for watch in waiting)

    def ages_seconds(self) -> dict[str, float]:
        """Return the seconds since each stream's last sign of life, for each existing resource and for
        `kubelet/<node>`.
        """
        ages = self._freshness.ages_seconds(self._clock.now())
        return {name: age for name, age in ages.items() if name not in self._absent()}

    def acknowledge(self, delivery: Delivery) -> None:
        """Record that an observation is safely stored: after a restart its stream may resume behind it."""
        if delivery.ticket:
            self._acknowledgements.acknowledge(delivery.ticket)

    @asynccontextmanager
    async def deliveries(self) -> AsyncIterator[AsyncIterator[Delivery]]:
        """Yield observations until cancelled. Unacknowledged ones are seen again after a restart.

        The sources slow down while the caller does not read, and end with the block. Then the versions up to the
        acknowledged observations are saved. A failing source ends the block; unexpected errors are raised.
        """
        async with AsyncExitStack() as stack:
            stack.enter_context(registered(self._figures(), self._why_not))
            stack.push_async_callback(self._save)
            await self._fleet.connect(self._access, stack)
            watches = [
                self._watch(resource, await stack.enter_async_context(ApiClient(self._access)))
                for resource in self._settings.watched
            ]
            leases = NodeLeases(await stack.enter_async_context(ApiClient(self._access)), self._emitter)
            nodes = self._watches.get(NODES.name)
            if nodes is None or self._saved.get(NODES.name):
                self._nodes_known.set()
            self._schedulers = schedulers(self._settings, self._access, self._emitter, self._seen_of_nodes, stack)
            self._spawn = await stack.enter_async_context(Tasks())
            following = [self._follow(watch, leases) for watch in watches]
            asking = [each.poll(self._settings.scheduler.seconds) for each in self._schedulers]
            for work in (*following, *asking, self._check_freshness(), leases.run()):
                self._spawn(work)
            self._spawn(self._keep_versions())
            yield self._deliver()

    async def _deliver(self) -> AsyncIterator[Delivery]:
        while True:
            yield await self._queue.get()

    def _figures(self) -> dict[Figure, Callable[[], Values]]:
        return {
            HAPPENINGS: lambda: {(stream, what): count for (stream, what), count in self.tally.items()},
            STREAM_AGE: self._oldest,
            DEGRADED: lambda: {(name,): 1.0 for name in self.degraded()},
            KUBELETS: self._kubelets,
        }

    def _oldest(self) -> Values:
        oldest: dict[tuple[str, ...], float] = {}
        for name, age in self.ages_seconds().items():
            kind = (name.partition("/")[0],)
            oldest[kind] = max(age, oldest.get(kind, 0.0))
        return oldest

    def _kubelets(self) -> Values:
        silent = [silence.stream for silence in self._silent_now() if "/" in silence.stream]
        return {("asked",): sum("/" in name for name in self.ages_seconds()), ("silent",): len(silent)}

    def _silent_now(self) -> list[Silence]:
        absent = self._absent()
        return [each for each in self._freshness.silent_now(self._clock.now()) if each.stream not in absent]

    def _why_not(self) -> Iterator[str]:
        degraded = self.degraded()
        for stream, text in sorted(degraded.items()):
            yield f"{stream} cannot be read: {text}"
        for silence in self._silent_now():
            if silence.stream not in degraded:
                yield f"{silence.stream} has been silent for {silence.seconds:.0f} s"
        if self._queue.full():
            yield f"limit: watch.queue_observations, {self._settings.queue_observations} wait to be sent"

    def _watch(self, resource: ApiResource[Any], client: ApiClient) -> Watch:
        self._freshness.expect(resource.name, WATCH_SILENCE_SECONDS, self._clock.now())
        watch = Watch(
            resource,
            self._settings.cluster,
            client,
            clock=self._clock,
            tally=self.tally,
            version=self._saved.get(resource.name, ""),
            namespace=self._settings.namespace,
            contact=lambda stream: self._freshness.saw(stream, self._clock.now()),
            glance=self._fleet.exists if resource is NODES else lambda *_: None,
        )
        self._watches[resource.name] = watch
        return watch

    async def _follow(self, watch: Watch, leases: NodeLeases) -> None:
        if watch.resource is not NODES:
            await self._nodes_known.wait()
        async with aclosing(watch.follow()) as steps:
            async for seen in steps:
                ticket = self._acknowledgements.hand_out(seen.stream, seen.version)
                if seen.observation is None:
                    self._acknowledgements.acknowledge(ticket)
                else:
                    if watch.resource is NODES:
                        self._node_changed(seen.observation, seen.decoded, leases)
                    if seen.observation.type in {"ERROR", "BOOKMARK"}:
                        self._reported[seen.stream] = seen.observation.ts
                    await self._put(Received(seen.observation, seen.decoded), ticket)
                if watch.resource is NODES and (watch.complete_at or watch.failure.text):
                    self._nodes_known.set()

    def _node_changed(self, observation: Observation, decoded: Any, leases: NodeLeases) -> None:
        self._fleet.changed(observation)
        if observation.type == "DELETED":  # not decoded if it only vanished from a list
            leases.gone(metadata_of(observation.object).name)
        elif decoded is not None:
            leases.changed(decoded)

    async def _emit(self, received: Received) -> None:
        await self._put(received, None)

    async def _put(self, received: Received, ticket: Ticket | None) -> None:
        await self._queue.put(Delivery(received, ticket, self._settings.strict))

    async def _check_freshness(self) -> None:
        bookmarked_at = self._clock.monotonic()
        while True:
            await self._clock.sleep(CHECK_SECONDS)
            for silence in self._silences(self._clock.now()):
                await self._emit(Received(silence))
            if self._clock.monotonic() - bookmarked_at >= BOOKMARK_SECONDS:
                bookmarked_at = self._clock.monotonic()
                for bookmark in self._bookmarks():
                    await self._emit(Received(bookmark))

    def _bookmarks(self) -> Iterator[Observation]:
        """Yield a bookmark of each complete watch, so that the next watcher knows until when nothing was missed.

        Each is newer than the last report about its stream. Otherwise a replay, which sorts by time, would take the
        stream for complete before the list that completed it.
        """
        silent = {silence.stream for silence in self._silent_now()}
        for name, watch in self._watches.items():
            at, reported = watch.complete_at, self._reported.get(name)
            if name not in silent and at and (reported is None or reported < at):
                yield bookmark_observation(at, self._settings.cluster, name)

    def _silences(self, at: datetime) -> Iterator[Observation]:
        """Yield a report of each silence, except of a missing custom resource, which is polled rarely."""
        absent = self._absent()
        for silence in self._freshness.silent(at):
            if silence.stream not in absent:
                report = self._silence(silence)
                if silence.stream in self._watches:
                    self._reported[silence.stream] = report.ts
                yield report

    def _seen_of_nodes(self) -> tuple[int, datetime | None]:
        watch = self._watches[NODES.name]
        return watch.known, watch.complete_at

    def _absent(self) -> set[str]:
        return {name for name, watch in self._watches.items() if watch.absent}

    def _silence(self, silence: Silence) -> Observation:
        error = partial(error_observation, self._clock, self._settings.cluster)
        text = f"stream silent for {silence.seconds:.0f} s"
        report = Report(text, "silent", silent_seconds=round(silence.seconds))
        kind, _, node = silence.stream.partition("/")
        self.tally[kind, "silence"] += 1
        return error("kubelet", STATS_SUMMARY.name, report, node) if node else error("watch", silence.stream, report)

    async def _keep_versions(self) -> None:
        while True:
            await self._clock.sleep(SAVE_SECONDS)
            await self._save()

    async def _save(self) -> None:
        """Store the versions. If the disk is full, this is retried later; an older stored version loses nothing."""
        versions = self._acknowledgements.versions
        if self._save_versions is None or versions == self._saved:
            return
        try:
            await self._save_versions(versions)
        except OSError as error:
            self.tally["versions", "failure"] += 1
            self._save_failure = plain(error)
        else:
            self._saved, self._save_failure = versions, ""
