"""From Faust's streams to a folder, in batches, and the acknowledgements: the only loop that takes from a stream.

Faust's own acknowledgements lose records when an agent fails, so here they are given by hand and strictly in order.

https://github.com/faust-streaming/faust/issues/315
"""

import asyncio
from collections.abc import AsyncIterable, Callable, Sequence
from typing import Final, Protocol

import structlog

from common.tasks import Tasks
from streams.kafka.message import FaustEvent, Message, of_event
from streams.kafka.worker import LogFolder, Turn

BATCH_EVENTS: Final = 4000
"""Of a backlog: a state is written once a batch."""
log = structlog.get_logger(__name__)


class Stream(Protocol):
    """What we use of `faust.types.StreamT`, of bytes."""

    enable_acks: bool

    def events(self) -> AsyncIterable[FaustEvent]: ...

    async def ack(self, event: FaustEvent) -> bool: ...


class MessagesMissing(Exception):
    """Faust skipped messages: nothing behind them may be folded, since a log's state knows one offset only."""


class Agent:
    """Folds what a stream gives until the process ends; a batch is what arrives within `within_seconds`.

    `generation` is the consumer's: what was taken before a rebalance is no longer ours.
    """

    def __init__(self, folder: LogFolder, generation: Callable[[], int], within_seconds: float) -> None:
        self.failure: Exception | None = None
        """The first; nothing of its batch, nor of any later one, is acknowledged."""
        self.folded = 0
        """Messages."""
        self.newest_ms: int | None = None
        """Kafka's time of the newest message that was folded."""
        self.next_offsets: dict[int, int] = {}
        """Of each partition that something was folded from in this generation."""
        self._folder = folder
        self._generation = generation
        self._within_seconds = within_seconds
        self._failed = asyncio.Event()
        self._busy = asyncio.Lock()
        self._closed = False
        self._of_generation: int | None = None

    async def run(self, stream: Stream) -> None:
        """Fold for ever, or until something fails; `failing` raises it.

        Faust's `noack_take` is not used: it was seen to drop events between two batches.
        """
        stream.enable_acks = False
        waiting: asyncio.Queue[FaustEvent] = asyncio.Queue(BATCH_EVENTS)
        try:
            async with Tasks() as begin:
                begin(_receive(stream, waiting))
                while True:
                    await self._fold_next(stream, await self._batch(waiting))
        except Exception as error:  # noqa: BLE001  # every failure ends the worker, and is logged there
            self.failure = error
            self._failed.set()
        await asyncio.Event().wait()  # Faust starts an agent again that returns

    async def failing(self) -> None:
        """Raise what fails."""
        await self._failed.wait()
        if self.failure is not None:
            raise self.failure

    async def rest(self) -> None:
        """Return when the batch that is folded now is stored and acknowledged."""
        async with self._busy:
            pass

    async def close(self) -> None:
        """As `rest`; no other batch is begun."""
        self._closed = True
        await self.rest()

    async def _batch(self, waiting: "asyncio.Queue[FaustEvent]") -> list[FaustEvent]:
        """At least one event; what arrives after it in the time, but no more than BATCH_EVENTS."""
        events = [await waiting.get()]
        if waiting.qsize() < BATCH_EVENTS - 1:
            await asyncio.sleep(self._within_seconds)
        while len(events) < BATCH_EVENTS and not waiting.empty():
            events.append(waiting.get_nowait())
        return events

    async def _fold_next(self, stream: Stream, events: Sequence[FaustEvent]) -> None:
        async with self._busy:
            if self._closed:
                return
            generation = self._generation()
            ours = [event for event in events if event.message.generation_id == generation]
            messages = [of_event(event) for event in ours]
            following = self._following(messages, generation)
            covered = {each.partition: following[each.partition] for each in messages}
            turn = Turn(generation, lambda: self._generation() == generation, covered)
            if not await self._folder.fold(messages, turn):
                log.warning("a batch outlasted the rebalance; the next owner of its partitions folds it again")
                return
            for event in ours:
                await stream.ack(event)
            self.newest_ms = max([self.newest_ms or 0, *(each.timestamp_ms for each in messages)])
            self.next_offsets = following
            self.folded += len(ours)

    def _following(self, messages: Sequence[Message], generation: int) -> dict[int, int]:
        """The next offset of each partition behind these. Raises MessagesMissing where one is newer than the next:
        these topics have no gaps. After a rebalance older ones may come again, and a partition begins anywhere.
        """
        if generation != self._of_generation:
            self._of_generation = generation
            self.next_offsets.clear()
        following = dict(self.next_offsets)
        for message in messages:
            expected = following.get(message.partition, message.offset)
            if message.offset > expected:
                raise MessagesMissing(f"{message.position} came where {expected} was next")
            following[message.partition] = message.offset + 1
        return following


async def _receive(stream: Stream, waiting: "asyncio.Queue[FaustEvent]") -> None:
    async for event in stream.events():
        await waiting.put(event)
