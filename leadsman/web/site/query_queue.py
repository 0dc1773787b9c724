"""Runs the site's queries: one at a time, with a short queue, and only while a client waits for the result."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from common.tasks import detached
from leadsman.web.reading.ask import rows
from sql.database.errors import DatabaseError, DatabaseUnreachable
from sql.database.open import Database, Stop, end

MOST_WAITING: Final = 32
"""Maximum number of requests that run or wait for the database; others are refused."""
KEPT_SECONDS: Final = 1.0
"""Time for which an answer is reused for the same question, because all clients of a live page ask at once."""
MOST_KEPT: Final = 64
LOOK_SECONDS: Final = 5.0
"""Interval between checks of an idle database."""
STUCK_SECONDS: Final = 90.0
"""Longer than any query may take."""
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Busy(Exception):
    """Too many requests wait."""

    def __init__(self) -> None:
        super().__init__("Try again in a few seconds.")


@dataclass(slots=True)
class _Kept:
    task: asyncio.Task[bytes]
    readers: int = 0


class QueryQueue:
    """Runs all queries on one thread, because a database belongs to one."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._thread = ThreadPoolExecutor(1, "page")
        self._turn = asyncio.Lock()
        self._kept: dict[Hashable, _Kept] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._running: tuple[Stop, asyncio.Future[Any], float] | None = None
        self._problem = ""
        self.waiting = 0
        """Number of queries, including running ones."""
        self.refused = 0
        self.abandoned = 0

    async def run(self, act: Callable[Concatenate[Database, _P], _T], *arguments: _P.args, **named: _P.kwargs) -> _T:
        """Run `act` in its turn. If cancelled, it does not start, or its queries are ended.

        Raises Busy if too many wait.
        """
        if self.waiting >= MOST_WAITING:
            raise self._refused()
        return await self.run_anyway(act, *arguments, **named)

    async def run_anyway(
        self, act: Callable[Concatenate[Database, _P], _T], *arguments: _P.args, **named: _P.kwargs
    ) -> _T:
        """Run `act` like `run`, however many wait."""
        self.waiting += 1
        try:
            await self._turn.acquire()
            return await self._in_thread(partial(act, self._db, *arguments, **named))
        finally:
            self.waiting -= 1

    async def shared(self, key: Hashable, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the result of `make`, shared by all callers with the same `key` until a second later.

        It is cancelled when the last caller leaves. Raises Busy, and errors of `make`.
        """
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= MOST_KEPT:
                raise self._refused()
            kept = self._kept[key] = _Kept(detached(_awaited(make)))
            kept.task.add_done_callback(partial(self._forget, key, kept))
        kept.readers += 1
        try:
            return await asyncio.shield(kept.task)
        finally:
            kept.readers -= 1
            if not kept.readers and not kept.task.done():
                self.abandoned += 1
                del self._kept[key]
                kept.task.cancel()

    async def look(self) -> None:
        """Check regularly whether an idle database answers, until cancelled."""
        while True:
            if not self.waiting:
                with suppress(DatabaseError):
                    await self.run_anyway(rows, "health", {})
            await asyncio.sleep(LOOK_SECONDS)

    def why_not(self) -> list[str]:
        """Return the reasons why no page can be served."""
        if self._running is not None and monotonic() - self._running[2] > STUCK_SECONDS:
            return ["the database has not answered for over a minute"]
        return [self._problem] if self._problem else []

    async def close(self) -> None:
        """End running queries, and accept no new ones."""
        for kept in self._kept.values():
            kept.task.cancel()
        if self._running is not None:
            await self._end(*self._running[:2])
        if self._ending:
            await asyncio.wait(self._ending)
        self._thread.shutdown()

    def _refused(self) -> Busy:
        self.refused += 1
        return Busy()

    async def _in_thread(self, act: Callable[[], _T]) -> _T:
        """Run in the thread. The next turn starts only when the thread is done."""
        stop = Stop()
        running = asyncio.get_running_loop().run_in_executor(self._thread, self._until, stop, act)
        self._running = stop, running, monotonic()
        running.add_done_callback(self._done)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            ending = detached(self._end(stop, running))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            raise

    def _until(self, stop: Stop, act: Callable[[], _T]) -> _T:
        self._db.stop = stop
        try:
            return act()
        finally:
            self._db.stop = None

    def _done(self, running: asyncio.Future[Any]) -> None:
        self._running = None
        self._turn.release()
        error = None if running.cancelled() else running.exception()
        if error is None:
            self._problem = ""
        elif isinstance(error, DatabaseUnreachable):
            self._problem = "the database does not answer"

    async def _end(self, stop: Stop, running: asyncio.Future[Any]) -> None:
        await end(stop, running, partial(self._kill, stop))

    def _kill(self, stop: Stop) -> None:
        with self._db.another() as other:
            other.kill(stop)

    def _forget(self, key: Hashable, kept: _Kept, task: asyncio.Task[bytes]) -> None:
        if task.cancelled():
            return
        keep = KEPT_SECONDS if task.exception() is None else 0.0
        asyncio.get_running_loop().call_later(keep, self._drop, key, kept)

    def _drop(self, key: Hashable, kept: _Kept) -> None:
        if self._kept.get(key) is kept:
            del self._kept[key]


async def _awaited(make: Callable[[], Awaitable[bytes]]) -> bytes:
    return await make()
