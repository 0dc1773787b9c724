"""Watches, analyses and lands a cluster in one process, without Kafka (delivery.md#one-process)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import msgspec

from common.clock import SYSTEM, Clock
from common.durations import in_words
from common.errors import CredentialsRefused, SourceUnusable
from common.private import FOLDER
from common.scrub import scrub
from common.tasks import Tasks, in_thread
from common.telemetry import registered
from common.text import plain
from ingest.apiserver.connect import context_name
from ingest.files.ahead import read_ahead
from ingest.files.rotate import stem
from ingest.files.sources import Timed, Window
from ingest.kafka.publish import DEAD_LETTERS
from ingest.live.journal import Journal
from ingest.live.run import Delivery, Live
from ingest.live.settings import LiveSettings
from ingest.model.observation import Observation, Observed
from ingest.normalize.decode import Decoded, decode
from leadsman.run.alert import AlertDelivery, progress_file, receiver_of
from leadsman.run.beside import answering
from leadsman.run.permissions import check_cluster
from leadsman.run.reducers import all_reducers
from leadsman.run.settings import Settings
from leadsman.run.silences import SILENCES, Silences
from leadsman.web.site.serve import listening
from sql.database.dsn import EMBEDDED_DATABASE, Embedded, parse_dsn
from sql.database.open import Database, connect
from sql.database.patient import RetryingDatabase
from sql.landing.batches import DatabaseCheckpoints, Lander
from sql.questions.pending import calculate, recalculate
from sql.schema.migrate import migrate
from sql.schema.upkeep import Upkeep
from streams.alerting.silences import Silence, Silencing
from streams.fold.batch import Batch, Sink
from streams.fold.checkpoints import Entry
from streams.fold.findings import Alert
from streams.local.replay import BATCH_ROWS, Replay

LAND_SECONDS: Final = 2.0
"""Time that a row waits in memory; an insert of a few rows costs as much as one of many."""
CHECKPOINT_SECONDS: Final = 60.0
"""Interval between checkpoints: observations after the last one are folded again after a crash.

It exceeds `ingest.files.sources.WINDOW`.
"""
FIRST_DEGRADED_SECONDS: Final = 5.0
"""Time for streams to start before degraded ones are reported."""
DEGRADED_SECONDS: Final = 1.0
"""Interval between two reports of degraded streams."""
FIRST: Final = ("nodes", "pods", "events")
"""Resources that a glance shows first, because it takes seconds to find that an optional API is missing."""
LISTED_SECONDS: Final = 0.1
"""Interval between two checks of whether everything was listed."""
JOURNAL: Final = "journal"
VERSIONS: Final = "versions.json"
Report: TypeAlias = Callable[[str], None]
"""Takes a line that is safe to show."""


class Page(NamedTuple):
    """Address of the page, and its token; empty if none is needed."""

    host: str
    port: int
    token: str


class Glance(NamedTuple):
    """A look for this long, instead of a page."""

    length: timedelta
    first: Callable[[Database], None]
    """Called with a database to read once nodes, pods and Events are listed and stored; watching continues after
    it.
    """


class _Error(msgspec.Struct):
    error: str


class InProcess:
    """Folds one cluster in this process. Observations are in the journal before they are acknowledged."""

    def __init__(
        self, cluster: str, live: Live, journal: Journal, replay: Replay, report: Report, clock: Clock = SYSTEM
    ) -> None:
        self._cluster = cluster
        self._live = live
        self._journal = journal
        self._replay = replay
        self._report = report
        self._clock = clock
        self._window = Window[Decoded]()
        self._busy = asyncio.Lock()
        """The fold belongs to one thread at a time."""
        self._degraded: dict[str, str] = {}
        self._failed: set[str] = set()
        """Resources of kubelets of which an error was reported."""

    async def resume(self) -> None:
        """Store observations that an earlier run left in the journal. Raises DatabaseError."""
        if self._journal.left:
            self._report("first storing observations that the last run received but did not finish")
            await in_thread(partial(self._replay.run, read_ahead(self._journal.left)))

    async def run(self, stop: asyncio.Event) -> None:
        """Watch until `stop`, then store all observations; the next run continues from there.

        Raises DatabaseError, OSError if the journal cannot be written, and any unexpected error of a source.
        """
        letters = self._replay.report.dead_letters
        with registered({DEAD_LETTERS: lambda: {(kind,): count for kind, count in dict(letters).items()}}):
            async with self._live.deliveries() as deliveries, Tasks() as spawn:
                spawn(self._receive(deliveries, stop))
                spawn(self._land())
                spawn(self._report_degraded())
                await stop.wait()
        await self._fold(self._window.drain())
        await self._checkpoint()
        await self._checkpoint()  # the first one closed the current segment, so the second one covers it

    async def store_now(self) -> None:
        """Fold and store what was observed so far, without waiting for late observations."""
        await self._fold(self._window.drain())
        await self._exclusively(self._replay.store)

    async def _receive(self, deliveries: AsyncIterator[Delivery], stop: asyncio.Event) -> None:
        async for delivery in deliveries:
            if stop.is_set():
                return  # the next run sees later observations again
            observation = delivery.observation
            entry = self._journal.write(observation, delivery.received.decoded_of(observation))
            self._live.acknowledge(delivery)
            if observation.type == "ERROR" and observation.source == "kubelet":
                self._report_first(observation)
            ts = entry.observation.ts if isinstance(entry, Observed) else self._clock.now()
            await self._fold(self._window.push((ts, len(entry.raw), decode(entry))))

    async def _land(self) -> None:
        stored_at, looked_at = self._clock.monotonic(), self._clock.now()
        while True:
            await self._clock.sleep(LAND_SECONDS)
            before, looked_at = looked_at, self._clock.now()
            was_set_back = looked_at < before  # newer entries would wait until the clock has caught up
            await self._fold(self._window.drain() if was_set_back else self._window.advance_to(looked_at))
            if self._clock.monotonic() - stored_at >= CHECKPOINT_SECONDS:
                stored_at = self._clock.monotonic()
                await self._checkpoint()
            else:
                await self._exclusively(self._replay.store)

    async def _fold(self, entries: Iterator[Timed[Decoded]]) -> None:
        async with self._busy:
            if reached := list(entries):
                await in_thread(partial(self._fold_all, reached))
        if self._replay.waiting_rows >= BATCH_ROWS:
            await self._exclusively(self._replay.store)

    def _fold_all(self, entries: Sequence[Timed[Decoded]]) -> None:
        """Fold the entries in a thread, because folding reads the database for a new hour or cluster."""
        for _, _, item in entries:
            self._replay.take(item)

    async def _checkpoint(self) -> None:
        covered = self._journal.checkpoint()
        await self._exclusively(
            lambda: self._replay.checkpoint([Entry(self._cluster, JOURNAL, "", covered.encode())])
        )
        self._journal.drop(covered)
        self._replay.report.in_part.clear()  # in segments, because new ones keep coming

    async def _exclusively(self, act: Callable[[], None]) -> None:
        async with self._busy:
            await in_thread(act)

    def _report_first(self, error: Observation) -> None:
        """Report the first failure of each resource; all failures are rows of `source_errors`."""
        if error.resource not in self._failed:
            self._failed.add(error.resource)
            text = msgspec.json.decode(error.object, type=_Error).error
            self._report(f"kubelet of {plain(error.node)}: {plain(error.resource)} cannot be read: {plain(text)}")

    async def _report_degraded(self) -> None:
        await self._clock.sleep(FIRST_DEGRADED_SECONDS)
        while True:
            now = self._live.degraded()
            for stream in sorted(now.keys() - self._degraded.keys()):
                self._report(f"{plain(stream)} cannot be read: {plain(scrub(now[stream]))}")
            for stream in sorted(self._degraded.keys() - now.keys()):
                self._report(f"{plain(stream)} can be read again")
            self._degraded = now
            await self._clock.sleep(DEGRADED_SECONDS)


class Announcing:
    """A sink that reports alerts as they fire and are resolved, before they are stored, except silenced ones."""

    def __init__(
        self, sink: Sink, report: Report, silences: Callable[[], Sequence[Silence]] = tuple, clock: Clock = SYSTEM
    ) -> None:
        self._sink = sink
        self._report = report
        self._silences = silences
        self._clock = clock
        self._silencing = Silencing()
        self._firing: set[str] = set()

    def write(self, batch: Batch) -> None:
        for row in batch.rows.get(Alert, ()):
            if isinstance(row, Alert):
                self._announce(row)
        self._sink.write(batch)

    def drain(self) -> None:
        self._sink.drain()

    def _announce(self, alert: Alert) -> None:
        if (alert.status == "firing") == (alert.fingerprint in self._firing):
            return
        known, now = self._silences(), self._clock.now()
        if alert.status == "firing" and self._silencing.silence_of(alert.labels, known, now):
            return
        self._firing ^= {alert.fingerprint}
        summary = plain(alert.annotations.get("summary", ""))
        self._report(f"{alert.ts:%H:%M:%S} {alert.severity} {alert.alertname} {alert.status}: {summary}")


async def run_in_process(
    settings: Settings, page: Page | Glance, capture: Path | None, report: Report, stop: asyncio.Event
) -> None:
    """Watch and analyse the cluster of these settings until `stop`, store the results, and serve the page or glance.

    With `capture`, keep all observations there as capture files. Alerts go to the configured receivers. Raises
    SourceUnusable, DatabaseError, CannotListen, BadRules, BadReceiver, and OSError if the journal cannot be written.
    """
    urls = [] if isinstance(page, Glance) else [each.get_secret_value() for each in settings.alerts.to]
    dsn = settings.db.get_secret_value()
    connect_to_read = partial(connect, dsn, read_only=True)
    receivers = {url: receiver_of(settings, url, connect_to_read) for url in urls}
    watch = await _named(settings.live())
    await _check(watch, report)
    with connect(dsn) as opened, connect(dsn, read_only=True) as reader:
        migrate(opened)
        database = RetryingDatabase(opened, stop.is_set, report)
        folder = (capture or journal_of(dsn)) / stem(watch.cluster)
        folder.mkdir(FOLDER, parents=True, exist_ok=True)
        watch = watch.model_copy(update={"versions_file": watch.versions_file or folder / VERSIONS})
        checkpoints = DatabaseCheckpoints(database)
        covered = checkpoints.load(watch.cluster, JOURNAL).get("", b"").decode()
        silences = Silences(partial(connect, dsn))
        with (
            closing(Journal(folder, covered, keep=capture is not None)) as journal,
            registered({}, database.why_not),
            Lander(database) as lander,
            Upkeep(partial(connect, dsn), recalculate),
        ):
            async with answering(reader, {SILENCES: silences.reply}):
                if not journal.is_whole:  # the next list has what it lacks
                    (folder / VERSIONS).unlink(missing_ok=True)
                live = await Live.connect(watch)
                await silences.read()
                announcing = Announcing(lander, report, silences.known)
                replay = Replay(all_reducers(settings), announcing, checkpoints, resumes=True)
                process = InProcess(watch.cluster, live, journal, replay, report)
                await process.resume()
                async with Tasks() as spawn:
                    spawn(silences.run())
                    for url, receiver in receivers.items():
                        file = progress_file(folder, url)
                        delivering = AlertDelivery(connect_to_read, watch.cluster, file, receiver, silences.known)
                        spawn(delivering.run())
                    if isinstance(page, Glance):
                        length = in_words(page.length.total_seconds())
                        report(f"watching cluster {plain(watch.cluster)} for {length}; Ctrl-C ends it earlier")
                        spawn(_glance(live, process, page, reader, stop))
                        await process.run(stop)
                    else:
                        async with listening(reader, page.host, page.port, page.token, settings.page) as at:
                            report(f"cluster {plain(watch.cluster)} is at {at} ; Ctrl-C ends it")
                            await process.run(stop)
            await in_thread(partial(calculate, database))
    if not isinstance(page, Glance):
        report("all observations are stored")


async def _glance(live: Live, process: InProcess, glance: Glance, reader: Database, stop: asyncio.Event) -> None:
    """Set `stop` when the glance's time has passed since everything was listed, which takes long on a busy server."""
    await _listed(live, FIRST)
    await process.store_now()
    await in_thread(partial(glance.first, reader))
    await _listed(live)
    await asyncio.sleep(glance.length.total_seconds())
    stop.set()


async def _listed(live: Live, resources: Collection[str] = ()) -> None:
    while not live.is_listed(resources):  # noqa: ASYNC110  # five sources would have to report it
        await asyncio.sleep(LISTED_SECONDS)


async def _named(watch: LiveSettings) -> LiveSettings:
    """Return the cluster with its name from the settings, or else from the kubeconfig's context."""
    if "cluster" in watch.model_fields_set:
        return watch
    name = await context_name(watch.kubeconfig, watch.context) or watch.cluster
    return watch.model_copy(update={"cluster": watch.model_copy(update={"cluster": name}).scope[:253]})


async def _check(watch: LiveSettings, report: Report) -> None:
    """Report what this account may and may not read. Raises SourceUnusable if it may read nothing."""
    checked = [each async for each in check_cluster(watch)]
    first = checked[0]
    if first.unknown_account:
        raise CredentialsRefused(f"{first.what}: {first.problem}")
    if not any(each.usable for each in checked):
        hint = "" if watch.namespace or not first.resource else ", or watch one namespace: -n NAMESPACE"
        raise SourceUnusable(f"{first.what}: {first.problem}{hint}")
    unreadable = {each.resource for each in checked if not each.usable}
    readable = dict.fromkeys(each.resource for each in checked if each.resource not in unreadable)
    report(
        f"this account may read {', '.join(readable)}"
        + (f" of namespace {watch.namespace}" if watch.namespace else "")
    )
    for each in checked:
        if each.needed and not each.usable:
            report(f"{each.what}: {plain(each.problem or each.note)}")
    if watch.namespace:
        report(
            f"only namespace {watch.namespace} is watched: nodes and kubelets are not read, so there are no forecasts"
        )
    elif watch.kubelet.access == "off":
        report("kubelets are not polled (--kubelet off), so there are no statistics and no forecasts")


def journal_of(dsn: str) -> Path:
    """Return the journal's folder: next to an embedded database, else in the working directory.

    Each database has its own, because streams resume from what is in it.
    """
    target = parse_dsn(dsn)
    if isinstance(target, Embedded):
        other = "" if target.database == EMBEDDED_DATABASE else f"-{stem(target.database)}"
        return target.folder / f"{JOURNAL}{other}"
    return Path(f"leadsman-{JOURNAL}") / f"{stem(target.host)}-{target.port}-{stem(target.database)}"
