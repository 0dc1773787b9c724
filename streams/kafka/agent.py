"""Folds a Faust stream in batches and acknowledges it by hand: the only loop that reads from a stream.

1. Take a batch: a state is then read and written once for many messages.

2. Drop messages of an older generation: after a rebalance the owner of their partition, perhaps this worker, receives
them again.

3. Refuse a message that is not the next of its partition, unless the topic has a hole there: folding it would lose
the messages between without a trace.

4. Fold into memory. Nothing is acknowledged yet, so a crash here only repeats work.

5. Write the states, then acknowledge in order: the reverse would lose messages that a crash leaves in no state. Faust
itself would acknowledge an event as soon as its agent takes the next one, even if folding failed.

6. Before a rebalance, write what was folded, so that the next owner has little to repeat.

https://github.com/faust-streaming/faust/issues/315
"""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

import structlog
from aiokafka import TopicPartition

from common.tasks import Tasks, detached
from streams.kafka.message import FaustEvent, Message, MessagesLost, message_of_event
from streams.kafka.states import Ownership
from streams.kafka.worker import LogFolder

BATCH_EVENTS: Final = 4000
"""Largest batch of a backlog."""
WRITE_FROM_MESSAGES: Final = 20_000
"""States are written once this many messages are folded; the last batch can exceed it by BATCH_EVENTS."""
REBALANCE_WRITE_SECONDS: Final = 10.0
"""Time to write states before a rebalance; shorter than the session."""
NO_GENERATION: Final = -1
log = structlog.get_logger(__name__)


class Stream(Protocol):
    """The part of `faust.types.StreamT` that the agent uses, for bytes."""

    enable_acks: bool

    def events(self) -> AsyncIterable[FaustEvent]: ...

    async def ack(self, event: FaustEvent) -> bool: ...


class FaustAgent:
    """Folds a stream until the process ends or something fails; a batch is what arrives within
    `within_seconds`. States are written, and their messages acknowledged, `state_seconds` after the first unwritten
    message, or earlier: after WRITE_FROM_MESSAGES, before a rebalance, at a stop.

    `generation` is the consumer's: messages received before a rebalance are no longer this worker's.
    """

    def __init__(
        self,
        folder: LogFolder,
        generation: Callable[[], int],
        within_seconds: float,
        state_seconds: float,
        is_hole: Callable[[TopicPartition, int, int], Awaitable[bool]],
    ) -> None:
        """`is_hole` tells whether a topic has no messages from one offset up to another."""
        self.failure: Exception | None = None
        """The first error. Messages that are not in a written state then stay unacknowledged."""
        self.folded = 0
        self.newest_ms: int | None = None
        """Kafka's time of the newest message that was folded."""
        self.next_offsets: dict[int, int] = {}
        """Next offset of each partition that was folded in this generation."""
        self._folder = folder
        self._generation = generation
        self._is_hole = is_hole
        self._within_seconds = within_seconds
        self._state_seconds = state_seconds
        self._unwritten: list[FaustEvent] = []
        """Events that were folded and not acknowledged."""
        self._due_at: float | None = None
        """When states are due, by the loop's clock; None if nothing changed."""
        self._finishing: asyncio.Task[None] | None = None
        self._is_full = asyncio.Event()
        """Set while a full batch waits."""
        self._failed = asyncio.Event()
        self._busy = asyncio.Lock()
        self._closed = False
        self._of_generation = NO_GENERATION

    async def run(self, stream: Stream) -> None:
        """Fold until cancelled or until something fails; `failing` raises the error. It never returns.

        Faust's `noack_take` is not used, because it was seen to drop events between two batches.
        """
        stream.enable_acks, self._stream = False, stream
        waiting: asyncio.Queue[FaustEvent] = asyncio.Queue(BATCH_EVENTS)
        try:
            async with Tasks() as spawn:
                spawn(self._receive(stream, waiting))
                while True:
                    await self._fold_next(await self._batch(waiting))
        except Exception as error:  # noqa: BLE001  # every failure ends the worker, and is logged there
            self._fail(error)
        await asyncio.Event().wait()  # Faust restarts an agent that returns

    async def failing(self) -> None:
        await self._failed.wait()
        if self.failure is not None:
            raise self.failure

    async def write_before_rebalance(self) -> None:
        """Return when everything folded is written and acknowledged, when that failed, or after
        REBALANCE_WRITE_SECONDS: the next owner of the partitions folds the rest again.
        """
        self._finishing = detached(self._finish())
        await asyncio.wait({self._finishing}, timeout=REBALANCE_WRITE_SECONDS)

    async def close(self) -> None:
        """Return when everything folded is written and acknowledged, or when that failed. No other batch begins."""
        self._closed = True
        await self._finish()

    async def _finish(self) -> None:
        try:
            async with self._busy:
                if self._unwritten and self.failure is None:
                    await self._write()
        except Exception as error:  # as in `run`: `failing` may no longer be awaited
            log.exception("what was folded could not be written")
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.failure = self.failure or error
        self._failed.set()

    async def _batch(self, waiting: "asyncio.Queue[FaustEvent]") -> list[FaustEvent]:
        """Wait for an event, then take events that arrive in time, up to BATCH_EVENTS; none if states are due
        first.
        """
        try:
            async with asyncio.timeout_at(self._due_at):
                events = [await waiting.get()]
        except TimeoutError:
            return []
        self._is_full.clear()
        if waiting.qsize() < BATCH_EVENTS - 1:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._within_seconds):
                    await self._is_full.wait()
        while len(events) < BATCH_EVENTS and not waiting.empty():
            events.append(waiting.get_nowait())
        return events

    async def _fold_next(self, events: Sequence[FaustEvent]) -> None:
        async with self._busy:
            if self._closed:
                return
            self._start_generation()
            ours = [event for event in events if event.message.generation_id == self._of_generation]
            if ours and not await self._fold(ours):
                return
            now = asyncio.get_running_loop().time()
            if self._due_at is not None and (now >= self._due_at or len(self._unwritten) >= WRITE_FROM_MESSAGES):
                await self._write()

    async def _fold(self, events: Sequence[FaustEvent]) -> bool:
        """Fold events; return False if the partitions moved to another worker meanwhile."""
        messages = [message_of_event(event) for event in events]
        following = await self._following(messages)
        if not await self._folder.fold(messages, self._ownership()):
            log.warning("a batch outlasted the rebalance; the next owner of its partitions folds it again")
            return False
        for event in events:
            event.value = event.message.value = event.message.headers = None  # it waits to be acknowledged
        self._unwritten += events
        if self._due_at is None:
            self._due_at = asyncio.get_running_loop().time() + self._state_seconds
        self.newest_ms = max([self.newest_ms or 0, *(each.timestamp_ms for each in messages)])
        self.next_offsets = following
        self.folded += len(messages)
        return True

    async def _write(self) -> None:
        """Write the folded states, and acknowledge their messages in order."""
        if not await self._folder.write(self._ownership()):
            log.warning("states were written too late for the rebalance; their next owner folds the rest again")
            return
        for event in self._unwritten:
            await self._stream.ack(event)
        self._unwritten.clear()
        self._due_at = None

    def _ownership(self) -> Ownership:
        generation = self._of_generation
        return Ownership(generation, lambda: self._generation() == generation, dict(self.next_offsets))

    def _start_generation(self) -> None:
        """Forget messages that were folded but not written in the last generation: they are received again."""
        generation = self._generation()
        if generation != self._of_generation:
            self._of_generation = generation
            self.next_offsets.clear()
            self._unwritten.clear()
            self._due_at = None
            self._folder.abandon()

    async def _following(self, messages: Sequence[Message]) -> dict[int, int]:
        """Return the next offset of each partition. Raises MessagesLost if a message is newer than the next and
        the topic has those between. After a rebalance older ones may come again, and a partition begins anywhere.
        """
        following = dict(self.next_offsets)
        for message in messages:
            expected = following.get(message.partition, message.offset)
            partition = TopicPartition(message.topic, message.partition)
            if message.offset > expected and not await self._is_hole(partition, expected, message.offset):
                raise MessagesLost(f"{message.position} arrived, but {expected} was next")
            following[message.partition] = message.offset + 1
        return following

    async def _receive(self, stream: Stream, waiting: "asyncio.Queue[FaustEvent]") -> None:
        async for event in stream.events():
            if waiting.full():
                self._is_full.set()
            await waiting.put(event)
