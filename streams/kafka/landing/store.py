"""Runs a store on its own thread, and retries it."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Final, Protocol, TypeVar

import structlog
from aiokafka import TopicPartition

from common.clock import SYSTEM, Backoff
from common.cycles import forget_frames
from streams.kafka.landing.portion import Portion
from streams.kafka.landing.resume import Landed

FIRST_BACKOFF_SECONDS: Final = 0.2
LONGEST_BACKOFF_SECONDS: Final = 10.0
log = structlog.get_logger(__name__)

_Answer = TypeVar("_Answer")


class Store(Protocol):
    """Stores landed messages. Raises TransientFailure if the caller should retry."""

    def __call__(self, portion: Portion, landed: Mapping[TopicPartition, Landed], /) -> None:
        """Return when the portion is stored, and after it the progress of its partitions (`landed`)."""

    def landed(self, kafka: str, /) -> dict[TopicPartition, Landed]:
        """Return the stored progress of a Kafka cluster, by its id. All later messages come from that cluster."""

    def resume_from(self, landed: Mapping[TopicPartition, Landed], /) -> None:
        """Store that these partitions resume there, because they had no progress, or messages are missing."""


class TransientFailure(Exception):
    """The store cannot take the portion now; the same portion is retried."""


class Abandoned(Exception):
    """The partitions were revoked, or the lander stops; the next owner finishes the begun portion."""


def new_backoff() -> Backoff:
    """Return the waits between attempts while the store, or Kafka, accepts nothing."""
    return Backoff(SYSTEM, initial_seconds=FIRST_BACKOFF_SECONDS, limit_seconds=LONGEST_BACKOFF_SECONDS, jitter=0.0)


class StoreThread:
    """Stores portions one at a time on a daemon thread, so that a hanging database does not keep the process
    alive.
    """

    def __init__(self, store: Store) -> None:
        self.refusals = 0
        self.refusal = ""
        """Reason why the store accepts no data now; empty if it accepts data."""
        self._store = store
        self._waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        Thread(target=self._run, name="landing", daemon=True).start()

    async def store(
        self,
        portion: Portion,
        landed: Mapping[TopicPartition, Landed],
        stop: asyncio.Event,
        is_ours: Callable[[], bool],
    ) -> None:
        """Return when the portion is stored, after any number of retries.

        Raises Abandoned if it is no longer ours, or the lander stops; and the store's errors.
        """
        await self._try(lambda: self._store(portion, landed), stop, is_ours, portion.token)

    async def landed(
        self, kafka: str, stop: asyncio.Event, is_ours: Callable[[], bool]
    ) -> dict[TopicPartition, Landed]:
        return await self._try(lambda: self._store.landed(kafka), stop, is_ours, "what is stored")

    async def resume_from(
        self, landed: Mapping[TopicPartition, Landed], stop: asyncio.Event, is_ours: Callable[[], bool]
    ) -> None:
        """Call the store's `resume_from`; raises like `store`."""
        if landed:
            await self._try(lambda: self._store.resume_from(landed), stop, is_ours, "the start of partitions")

    async def _try(
        self, ask: Callable[[], _Answer], stop: asyncio.Event, is_ours: Callable[[], bool], what: str
    ) -> _Answer:
        backoff = new_backoff()
        while is_ours() and not stop.is_set():
            try:
                answer = await self._once(ask)
            except TransientFailure as failure:
                forget_frames(failure)
                self.refusals += 1
                self.refusal = str(failure)
                wait_seconds = backoff.next_seconds()
                log.warning("not stored yet", range=what, reason=str(failure), again_in_seconds=wait_seconds)
            else:
                self.refusal = ""
                return answer
            await _sleep(wait_seconds, stop)
        raise Abandoned

    async def _once(self, ask: Callable[[], _Answer]) -> _Answer:
        answered: Future[_Answer] = Future()

        def answer() -> None:
            try:
                answered.set_result(ask())
            except BaseException as failure:  # noqa: BLE001  # it is raised where the answer is awaited
                answered.set_exception(failure)

        self._waiting.put(answer)
        return await asyncio.wrap_future(answered)

    def _run(self) -> None:
        while True:
            self._waiting.get()()


async def _sleep(seconds: float, stop: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return
