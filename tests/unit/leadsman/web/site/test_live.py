"""Live pages: what their readers are sent, by how many queries, and when that ends."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from components.rows import row, store
from leadsman.web.site import live
from leadsman.web.site.live import Pulse, read_marks
from sql.database.open import Database
from streams.fold.findings import Eviction, NodeRow
from waiting import until

EVERY = 0.02
PATIENCE = 5.0
Answer = aiohttp.ClientResponse


class Marks:
    """Answers of the database, and the number of its queries."""

    def __init__(self) -> None:
        self.of: dict[str, str] | None = {"c": "1", "d": "1"}
        self.times = 0

    async def read(self) -> dict[str, str] | None:
        self.times += 1
        return None if self.of is None else dict(self.of)


@asynccontextmanager
async def site(pulse: Pulse) -> AsyncIterator["TestClient[web.Request, web.Application]"]:
    async def events(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await pulse.send(response, request.query["cluster"], request.headers.get("Last-Event-ID", ""))
        return response

    app = web.Application()
    app.router.add_get("/", events)
    client = TestClient(TestServer(app))
    await client.start_server()
    try:
        yield client
    finally:
        pulse.close()
        await client.close()


async def event(answer: Answer) -> dict[str, str]:
    """The next one, as its fields."""
    fields = {}
    while line := (await asyncio.wait_for(answer.content.readline(), PATIENCE)).decode().strip():
        name, _, value = line.partition(": ")
        fields[name] = value
    return fields


async def next_of(answer: Answer, name: str) -> dict[str, str]:
    """The next event of that name; those before are heartbeats."""
    while (found := await event(answer))["event"] != name:
        assert found["event"] in {"same", "changed"}
    return found


@pytest.mark.asyncio
async def test_a_new_reader_renews_its_page_and_then_gets_changes_of_its_cluster() -> None:
    marks = Marks()
    pulse = Pulse(marks.read, EVERY)
    async with site(pulse) as client:
        answer = await client.get("/?cluster=c")
        assert await event(answer) == {"event": "changed", "id": "1", "data": "changed"}
        assert (await event(answer))["event"] == "same"
        marks.of = {"c": "1", "d": "2"}
        assert [(await event(answer))["event"] for _ in range(3)] == ["same"] * 3
        marks.of = {"c": "2", "d": "2"}
        assert (await next_of(answer, "changed"))["id"] == "2"


@pytest.mark.asyncio
async def test_a_reader_that_comes_back_is_sent_only_what_it_missed() -> None:
    marks = Marks()
    async with site(Pulse(marks.read, EVERY)) as client:
        missed = await client.get("/?cluster=c", headers={"Last-Event-ID": "0"})
        assert (await event(missed))["event"] == "changed"
        nothing = await client.get("/?cluster=c", headers={"Last-Event-ID": "1"})
        assert (await event(nothing))["event"] == "same"


@pytest.mark.asyncio
async def test_a_database_that_does_not_answer_is_an_event_and_then_what_changed_meanwhile() -> None:
    marks = Marks()
    async with site(Pulse(marks.read, EVERY)) as client:
        answer = await client.get("/?cluster=c")
        await event(answer)
        marks.of = None
        assert await next_of(answer, "down") == {"event": "down", "data": "down"}
        marks.of = {"c": "2"}
        while (found := await event(answer))["event"] == "down":
            pass
        assert found["id"] == "2"


@pytest.mark.asyncio
async def test_all_readers_share_one_query_and_without_a_reader_nothing_is_asked() -> None:
    marks = Marks()
    pulse = Pulse(marks.read, EVERY)
    async with site(pulse) as client:
        began = time.monotonic()
        answers = [await client.get("/?cluster=c") for _ in range(20)]
        for answer in answers:
            await event(answer)
        assert marks.times <= 2 + (time.monotonic() - began) / EVERY  # for each by itself 20 times that
        for answer in answers:
            answer.close()
        await until(lambda: pulse.readers == 0)
        before = marks.times
        await asyncio.sleep(5 * EVERY)  # in which it would have been asked again
        assert marks.times == before


@pytest.mark.asyncio
async def test_readers_are_bounded_and_closing_ends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_READERS", 2)
    pulse = Pulse(Marks().read, EVERY)
    async with site(pulse) as client:
        answers = [await client.get("/?cluster=c") for _ in range(2)]
        for answer in answers:
            await event(answer)
        assert pulse.full
        pulse.close()
        for answer in answers:
            await asyncio.wait_for(answer.read(), PATIENCE)
        assert pulse.readers == 0


def test_a_mark_changes_with_what_was_landed_and_only_then(database: Database) -> None:
    assert read_marks(database) == {}
    store(database, row(NodeRow, node="n"))
    first = read_marks(database)
    assert set(first) == {"c"}
    assert read_marks(database) == first
    store(database, row(Eviction, node="n", pod="p"))
    assert read_marks(database)["c"] != first["c"]
