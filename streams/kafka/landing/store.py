"""The store's own thread, and how often it is tried."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Final, TypeAlias

import structlog

from common.backoff import Backoff
from common.clock import SYSTEM
from streams.kafka.landing.portion import Portion

FIRST_BACKOFF_SECONDS: Final = 0.2
LONGEST_BACKOFF_SECONDS: Final = 10.0
log = structlog.get_logger(__name__)

Store: TypeAlias = Callable[[Portion], None]
"""Returns when a portion is stored, and raises TransientFailure where the same portion is to be tried again."""


class TransientFailure(Exception):
    """The store cannot take the portion now; the same one is tried again."""


class Abandoned(Exception):
    """The partitions went to another consumer, who finishes what was begun."""


def new_backoff() -> Backoff:
    """Waits between attempts while the store, or Kafka, takes nothing."""
    return Backoff(SYSTEM, initial_seconds=FIRST_BACKOFF_SECONDS, limit_seconds=LONGEST_BACKOFF_SECONDS, jitter=0.0)


class Storing:
    """Stores portions one after the other, on a thread that does not keep a process alive whose database hangs."""

    def __init__(self, store: Store) -> None:
        self.refusals = 0
        self.refusal = ""
        """Why the store takes nothing now."""
        self._store = store
        self._waiting: SimpleQueue[tuple[Portion, Future[None]]] = SimpleQueue()
        Thread(target=self._run, name="landing", daemon=True).start()

    async def store(self, portion: Portion, stop: asyncio.Event, is_ours: Callable[[], bool]) -> None:
        """Return when the portion is stored, however often that must be tried.

        Raises Abandoned where it is no longer ours, or the lander stops; and what storing raises.
        """
        backoff = new_backoff()
        while is_ours() and not stop.is_set():
            try:
                await self._once(portion)
            except TransientFailure as failure:
                self.refusals += 1
                self.refusal = str(failure)
                wait_seconds = backoff.next_seconds()
                log.warning("not stored yet", range=portion.token, reason=str(failure), again_in_seconds=wait_seconds)
            else:
                self.refusal = ""
                return
            await _sleep(wait_seconds, stop)
        raise Abandoned

    async def _once(self, portion: Portion) -> None:
        stored: Future[None] = Future()
        self._waiting.put((portion, stored))
        await asyncio.wrap_future(stored)

    def _run(self) -> None:
        while True:
            portion, stored = self._waiting.get()
            try:
                self._store(portion)
            except BaseException as failure:  # noqa: BLE001  # it is raised where the portion is awaited
                stored.set_exception(failure)
            else:
                stored.set_result(None)


async def _sleep(seconds: float, stop: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return
