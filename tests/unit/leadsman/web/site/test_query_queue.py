"""The site's queries are bounded, shared, and over when nobody waits for them."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from functools import partial

import pytest
import pytest_asyncio

from leadsman.web.site.query_queue import KEPT_SECONDS, MOST_WAITING, Busy, QueryQueue
from sql.database.errors import DatabaseUnreachable, QueryCancelled
from sql.database.open import Database
from waiting import eventually, unhurried

ENDLESS = "SELECT count() FROM numbers_mt(300000000000) WHERE cityHash64(number) = 7"
SOON_SECONDS = 5.0
"""Time for an engine that shares two cores with others; the query above takes half an hour."""

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def queue(database: Database) -> AsyncIterator[QueryQueue]:
    made = QueryQueue(database)
    yield made
    await made.close()


def endless(db: Database) -> bytes:
    db.query(ENDLESS)
    return b""


async def begun(db: Database) -> None:
    """Until the engine runs it."""
    await asyncio.to_thread(_begun, db)


def _begun(db: Database) -> None:
    runs = "SELECT count() FROM system.processes WHERE startsWith(query, 'SELECT count() FROM numbers_mt')"
    with db.another() as other:
        eventually("the query runs", lambda: other.query(runs).rows[0][0])


async def test_a_query_ends_when_its_reader_leaves(queue: QueryQueue, database: Database) -> None:
    asking = asyncio.create_task(queue.shared("page", lambda: queue.run(endless)))
    await begun(database)
    left_at = time.monotonic()
    asking.cancel()
    assert await asyncio.wait_for(queue.run(lambda db: db.query("SELECT 1").rows), unhurried(SOON_SECONDS)) == [(1,)]
    assert time.monotonic() - left_at < unhurried(SOON_SECONDS)
    assert (queue.waiting, queue.abandoned) == (0, 1)


async def test_a_query_goes_on_while_one_of_its_readers_stays(queue: QueryQueue) -> None:
    gate = threading.Event()

    def wait(_: Database) -> bytes:
        gate.wait()
        return b"answer"

    first, second = (asyncio.create_task(queue.shared("page", lambda: queue.run(wait))) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert await second == b"answer"
    assert queue.abandoned == 0


async def test_an_abandoned_waiting_query_never_starts(queue: QueryQueue) -> None:
    gate, ran = threading.Event(), list[int]()

    def add(nth: int, _: Database) -> None:
        ran.append(nth)

    running = asyncio.create_task(queue.run(lambda _: gate.wait()))
    left = [asyncio.create_task(queue.run(partial(add, nth))) for nth in range(MOST_WAITING - 1)]
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await queue.run(lambda _: None)
    for each in left:
        each.cancel()
    await asyncio.wait(left)
    assert (queue.waiting, queue.refused) == (1, 1)
    gate.set()
    await running
    assert await queue.run(lambda _: "next") == "next"
    assert ran == []


async def test_no_further_query_begins_after_the_reader_left(queue: QueryQueue) -> None:
    gate, ended = threading.Event(), list[BaseException]()

    def many(db: Database) -> None:
        gate.wait()
        try:
            db.query("SELECT 1")
        except QueryCancelled as error:
            ended.append(error)
            raise

    running = asyncio.create_task(queue.run(many))
    await asyncio.sleep(0.05)
    running.cancel()
    await asyncio.wait({running})
    await asyncio.sleep(0)
    gate.set()
    await queue.run(lambda db: db.query("SELECT 1"))
    assert len(ended) == 1


async def test_an_answer_is_given_again_for_a_moment(queue: QueryQueue) -> None:
    made = list[int]()

    def make(_: Database) -> bytes:
        made.append(1)
        return b"page"

    for _ in range(3):
        assert await queue.shared("page", lambda: queue.run(make)) == b"page"
    assert len(made) == 1
    await asyncio.sleep(KEPT_SECONDS + 0.2)
    await queue.shared("page", lambda: queue.run(make))
    assert len(made) == 2


async def test_a_failure_is_not_kept(queue: QueryQueue) -> None:
    def fail(_: Database) -> bytes:
        raise DatabaseUnreachable("gone")

    with pytest.raises(DatabaseUnreachable):
        await queue.shared("page", lambda: queue.run(fail))
    assert queue.why_not() == ["the database does not answer"]
    await asyncio.sleep(0.01)
    assert await queue.shared("page", lambda: queue.run(lambda _: b"page")) == b"page"
    assert queue.why_not() == []


async def test_an_end_does_not_wait_for_a_query(database: Database) -> None:
    queue = QueryQueue(database)
    asking = asyncio.create_task(queue.run(endless))
    await begun(database)
    ended_at = time.monotonic()
    await queue.close()
    assert time.monotonic() - ended_at < unhurried(SOON_SECONDS)
    await asyncio.wait({asking})
    assert asking.exception() is not None
