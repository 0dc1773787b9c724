"""`leadsman up` on a ClickHouse server that goes away: it waits, reports it, and goes on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from kubernetes_asyncio.client.configuration import Configuration

from components.clickhouse import ClickHouseHttp
from components.rows import T0, store_samples, summary
from fakes.apiserver import FakeApiServer, event, listing, pod, watching
from fakes.clock import hurried
from ingest.kubelet.settings import KubeletSettings
from ingest.live.journal import Journal
from ingest.live.run import Live
from ingest.live.settings import LiveSettings
from leadsman.run.in_process import InProcess
from sql.database.errors import DatabaseUnreachable, QueryFailed
from sql.database.open import connect
from sql.database.patient import RetryingDatabase
from sql.landing.batches import DatabaseCheckpoints, Lander
from sql.schema.migrate import migrate
from streams.analytics.registry import REDUCERS
from streams.local.replay import Replay
from waiting import PATIENCE_SECONDS, until

CLOCK: Final = hurried(0.2)


class Up(NamedTuple):
    process: InProcess
    database: RetryingDatabase
    reported: list[str]
    stop: asyncio.Event


@asynccontextmanager
async def up(dsn: str, journal: Path, api: FakeApiServer) -> AsyncIterator[Up]:
    reported: list[str] = []
    stop = asyncio.Event()
    access = Configuration()
    access.host = api.url
    settings = LiveSettings(cluster="lab", resources=("pods",), kubelet=KubeletSettings(access="off"))
    with connect(dsn) as opened:
        migrate(opened)
        database = RetryingDatabase(opened, stop.is_set, reported.append)
        with closing(Journal(journal, "")) as written, Lander(database) as lander:
            replay = Replay(REDUCERS, lander, DatabaseCheckpoints(database), resumes=True)
            live = Live(settings, access, clock=CLOCK)
            yield Up(InProcess("lab", live, written, replay, print, CLOCK), database, reported, stop)


def pods(server: ClickHouseHttp) -> set[str]:
    with connect(server.dsn()) as database:
        return {name for (name,) in database.query("SELECT pod FROM pod_bindings FINAL").rows}


@pytest.mark.asyncio
async def test_up_outlasts_a_server_outage_and_stores_everything_seen_meanwhile(tmp_path: Path) -> None:
    with ExitStack() as serving:
        server = serving.enter_context(ClickHouseHttp(tmp_path / "db"))
        port, dsn = server.port, server.dsn()
        async with FakeApiServer().running() as api:
            api.script["/api/v1/pods"] = [listing("7", [pod("a", "3")]), watching(hang=False)]
            async with up(dsn, tmp_path / "journal", api) as (process, database, reported, stop):
                running = asyncio.ensure_future(process.run(stop))
                await until(lambda: pods(server) == {"a"})
                serving.close()
                api.script["/api/v1/pods"] = [watching(event("ADDED", pod("b", "8")))]
                await until(lambda: bool(reported))
                assert not running.done()
                (why,) = database.why_not()
                assert why.startswith("the database accepts no data now: http://")
                with ClickHouseHttp(tmp_path / "db", port=port) as again:
                    await until(lambda: pods(again) == {"a", "b"})
                    assert list(database.why_not()) == []
                    stop.set()
                    await running
    assert reported[0].startswith("the database accepts no data now; retrying: ")
    assert reported[1:] == ["the database is back"]


@pytest.mark.asyncio
async def test_a_stop_does_not_wait_for_a_server_that_is_down(tmp_path: Path) -> None:
    """The journal keeps the observations, and the next run stores them."""
    with ExitStack() as serving:
        server = serving.enter_context(ClickHouseHttp(tmp_path / "db"))
        dsn = server.dsn()
        async with FakeApiServer().running() as api:
            api.script["/api/v1/pods"] = [listing("7", [pod("a", "3")]), watching(hang=False)]
            async with up(dsn, tmp_path / "journal", api) as (process, _, reported, stop):
                running = asyncio.ensure_future(process.run(stop))
                await until(lambda: pods(server) == {"a"})
                serving.close()
                api.script["/api/v1/pods"] = [watching(event("ADDED", pod("b", "8")))]
                await until(lambda: bool(reported))
                stop.set()
                with pytest.raises(DatabaseUnreachable):
                    await asyncio.wait_for(running, PATIENCE_SECONDS)


def test_an_insert_whose_answer_was_lost_is_there_once(clickhouse: ClickHouseHttp) -> None:
    reported: list[str] = []
    with connect(clickhouse.dsn()) as opened:
        migrate(opened)
        clickhouse.inject("drop_after")
        store_samples(
            RetryingDatabase(opened, lambda: False, reported.append), summary(T0, "n", memory_available_bytes=1)
        )
        assert opened.query("SELECT count() FROM node_samples").rows == [(1,)]
    assert len(reported) == 2


@pytest.mark.parametrize("stopped", [False, True])
def test_what_no_retry_helps_against_is_raised_at_once(clickhouse: ClickHouseHttp, stopped: bool) -> None:
    reported: list[str] = []
    with connect(clickhouse.dsn()) as opened:
        patient = RetryingDatabase(opened, lambda: stopped, reported.append)
        with pytest.raises(QueryFailed, match="nonesuch"):
            patient.query("SELECT * FROM nonesuch")
        if stopped:
            clickhouse.inject("full")
            with pytest.raises(QueryFailed, match="not enough space"):
                patient.command("CREATE TABLE t (a Int8) ENGINE = Memory")
    assert reported == []
