"""The process without Kafka: who has the fold, and what a clock that is set does to it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from kubernetes_asyncio.client.configuration import Configuration
from prometheus_client import REGISTRY
from prometheus_client.samples import Sample

from common.clock import Clock
from components import captures
from fakes.apiserver import FakeApiServer, event, listing, pod, watching
from fakes.clock import hurried
from ingest.kubelet.settings import KubeletSettings
from ingest.live.journal import Journal
from ingest.live.run import Live
from ingest.live.settings import LiveSettings
from leadsman.run.in_process import Glance, InProcess, _glance, journal_of
from streams.analytics.registry import REDUCERS
from streams.fold.batch import Batch
from streams.fold.checkpoints import Entry
from streams.local.replay import Replay
from waiting import unhurried, until


class Database:
    """Rows and checkpoints in memory; `drain` waits for `go_on`, and what enters meanwhile is counted."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str, str], bytes] = {}
        self.inside = self.most = 0
        self.go_on = threading.Event()

    def load(self, cluster: str, kind: str, key: str | None = None) -> Mapping[str, bytes]:
        return {k: v for (c, n, k), v in self.entries.items() if (c, n) == (cluster, kind) and key in {None, k}}

    def save(self, entries: Sequence[Entry]) -> None:
        self.entries |= {(each.cluster, each.kind, each.key): each.value for each in entries}

    def write(self, batch: Batch) -> None:
        """They are not looked at."""

    def drain(self) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.go_on.wait()
        self.inside -= 1


def _live(server: FakeApiServer, clock: Clock) -> Live:
    access = Configuration()
    access.host = server.url
    settings = LiveSettings(cluster="lab", resources=("pods",), kubelet=KubeletSettings(access="off"))
    return Live(settings, access, clock=clock)


@asynccontextmanager
async def _server() -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer().running() as server:
        server.script["/api/v1/pods"] = [listing("7", [pod("a", "3")]), watching(event("ADDED", pod("b", "8")))]
        yield server


def _written(journal: Path) -> bytes:
    return b"".join(each.read_bytes() for each in journal.iterdir())


@pytest.mark.asyncio
async def test_a_stop_while_rows_are_stored_leaves_the_fold_to_the_thread_that_has_it(tmp_path: Path) -> None:
    """A row that is folded while a batch is handed over is in no batch, and the journal that has it is deleted."""
    database, clock, stop = Database(), hurried(), asyncio.Event()
    async with _server() as server:
        with closing(Journal(tmp_path, "")) as journal:
            replay = Replay(REDUCERS, database, database)
            process = InProcess("lab", _live(server, clock), journal, replay, print, clock)
            running = asyncio.ensure_future(process.run(stop))
            await until(lambda: database.inside)
            stop.set()
            await asyncio.wait({running}, timeout=0.3)
            database.go_on.set()
            await running
    assert database.most == 1


@pytest.mark.asyncio
async def test_what_was_observed_before_the_clock_was_set_back_is_not_held_until_it_is_there_again(
    tmp_path: Path,
) -> None:
    """Held longer than a minute it would be in no checkpoint, and the journal that has it may be deleted by then."""
    database, stop, back = Database(), asyncio.Event(), timedelta()
    database.go_on.set()
    clock = hurried()._replace(now=lambda: datetime.now(UTC) - back)
    async with _server() as server:
        with closing(Journal(tmp_path, "")) as journal:
            replay = Replay(REDUCERS, database, database)
            process = InProcess("lab", _live(server, clock), journal, replay, print, clock)
            running = asyncio.ensure_future(process.run(stop))
            await until(lambda: b'"name":"b"' in _written(tmp_path))
            back, lines = timedelta(hours=1), _written(tmp_path).count(b"\n")
            await until(lambda: replay.report.read >= lines, timeout_seconds=unhurried(8.0))
            stop.set()
            await running


@pytest.mark.asyncio
async def test_a_glance_has_what_the_lists_show_stored_before_it_watches_on(tmp_path: Path) -> None:
    """Nothing that could still come late is waited for: the clock stands, and no row would be due."""
    database, clock, stop = (
        Database(),
        hurried()._replace(now=lambda: datetime(2026, 1, 1, tzinfo=UTC)),
        asyncio.Event(),
    )
    database.go_on.set()
    shown: list[tuple[bool, bool]] = []
    async with _server() as server:
        with closing(Journal(tmp_path, "")) as journal:
            replay, live = Replay(REDUCERS, database, database), _live(server, clock)
            process = InProcess("lab", live, journal, replay, print, clock)
            glance = Glance(timedelta(seconds=0.1), lambda _: shown.append((replay.report.read > 0, stop.is_set())))
            running = asyncio.ensure_future(process.run(stop))
            await _glance(live, process, glance, database, stop)  # type: ignore[arg-type]  # it is only handed on
            await running
    assert shown == [(True, False)]
    assert stop.is_set()


@pytest.mark.asyncio
async def test_dead_letter_counts_of_deleted_segments_are_dropped(tmp_path: Path) -> None:
    database, clock = Database(), hurried()
    database.go_on.set()
    async with _server() as server:
        with closing(Journal(tmp_path, "")) as journal:
            replay = Replay(REDUCERS, database, database)
            process = InProcess("lab", _live(server, clock), journal, replay, print, clock)
            for segment in range(3):
                replay.report.in_part[f"{tmp_path}/{segment}"] += 1
                await process._checkpoint()
    assert not replay.report.in_part


def test_each_database_has_a_journal_of_its_own() -> None:
    """Streams resume behind what a journal has, and that is dropped once its own database has it."""
    databases = [
        "chdb:///lake",
        "chdb:///lake?database=other",
        *(f"http://u:p@{server}" for server in ("one:8123/a", "one:8123/b", "two:8123/a", "one:8124/a")),
    ]
    journals = [journal_of(each) for each in databases]
    assert len(set(journals)) == len(databases)
    assert journals[0] == Path("/lake/journal")
    assert journal_of("http://other:password@one:8123/a") == journals[2]


@pytest.mark.asyncio
async def test_a_journal_with_an_object_that_no_reducer_can_use_is_analysed_at_the_next_start(tmp_path: Path) -> None:
    """It held one Event of the year 9999, and no run began again."""

    def fail(*_: object) -> Any:
        raise ZeroDivisionError

    poison, after = (
        captures.event(f"12:00:0{at}", f"e{at}", "Evicted", "x", node="n", fields={"lastTimestamp": time})
        for at, time in enumerate(("9999-12-31T23:59:59Z", "2026-07-01T12:00:01Z"))
    )
    with closing(Journal(tmp_path, "")) as journal:
        for each in captures.observed([poison, after]):
            journal.write(each.observation)
    database, stop = Database(), asyncio.Event()
    database.go_on.set()
    reducers = [replace(each, step=fail) if each.name == "evictions" else each for each in REDUCERS]
    async with _server() as server:
        with closing(Journal(tmp_path, "")) as journal:
            replay = Replay(reducers, database, database)
            process = InProcess("lab", _live(server, hurried()), journal, replay, print, hurried())
            await process.resume()
            assert replay.report.dead_letters == {"impossible_time": 1, "reducer_failed": 2}
            assert replay.report.rows["NodeEvent"] == 2
            running = asyncio.ensure_future(process.run(stop))
            await until(lambda: b'"name":"b"' in _written(tmp_path))
            counted = {each.labels["error_type"]: each.value for each in _sampled("leadsman_dead_letters_total")}
            assert counted.items() >= replay.report.dead_letters.items()
            stop.set()
            await running


def _sampled(name: str) -> list[Sample]:
    return [sample for family in REGISTRY.collect() for sample in family.samples if sample.name == name]
