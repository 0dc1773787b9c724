"""Python's searches for reference cycles in a part that runs for months."""

import gc
import os
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import cast

import pytest

from common.cycles import rare_cycle_searches
from components.proc import resident_bytes
from leadsman.cli.live import run_part
from leadsman.run.settings import load
from leadsman.web.reading.settings import PageSettings
from leadsman.web.site.serve import run_site
from sql.database.open import Database
from waiting import until


class Connection:
    """One that points to itself, as a client does whose exception holds its frame."""

    def __init__(self) -> None:
        self.itself = self


class Ended(Exception):
    """The block was entered, and is left."""


async def work(*, aged: bool = True) -> None:
    connection = Connection()
    if aged:
        gc.collect()  # it is among the oldest objects now
    kept = weakref.ref(connection)
    del connection
    await until(lambda: kept() is None)


@asynccontextmanager
async def beside() -> AsyncIterator[None]:
    await work()
    raise Ended
    yield


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.cycles.FULL_SEARCH_SECONDS", 0.01)


def test_old_reference_cycles_are_freed_while_a_part_runs() -> None:
    run_part(load(telemetry={"port": 0}), "land", work())


def test_young_reference_cycles_do_not_wait_for_a_full_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """While Kafka is away a client leaves tens in a second; the watcher grew by 60 MiB in an hour of outages."""
    monkeypatch.setattr("common.cycles.FULL_SEARCH_SECONDS", 300)
    monkeypatch.setattr("common.cycles.YOUNG_SEARCH_SECONDS", 0.01)
    with rare_cycle_searches():
        run_part(load(telemetry={"port": 0}), "watch", work(aged=False))


def test_a_garbage_collection_that_waits_for_the_cpu_does_not_delay_later_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine they came once a minute, and what a restart of Kafka left grew until then."""
    searches: list[int] = []

    def search(generation: int) -> None:
        time.sleep(0.1)
        searches.append(generation)

    monkeypatch.setattr("common.cycles.YOUNG_SEARCH_SECONDS", 0.01)
    monkeypatch.setattr("gc.collect", search)

    async def often() -> None:
        await until(lambda: searches.count(1) > 3, 30)

    run_part(load(telemetry={"port": 0}), "work", often())


def test_freed_heap_memory_is_returned_to_the_system_while_a_part_runs() -> None:
    """A worker grew by 20 MiB each time that it read its states again, as one among many that it freed stayed."""
    size, each = 64 << 20, 2048
    blocks = [bytes(each) for _ in range(size // each)]
    stay = blocks[::64]
    del blocks
    before = resident_bytes(os.getpid())

    async def freed() -> None:
        await until(lambda: resident_bytes(os.getpid()) < before - size / 2, 60)

    run_part(load(telemetry={"port": 0}), "work", freed())
    assert stay


def test_so_it_is_while_a_page_is_served() -> None:
    with pytest.raises(Ended):
        run_site(cast(Database, SimpleNamespace(embedded=True)), "127.0.0.1", 0, "", PageSettings(), print, beside())
