"""Publishes to Kafka: an idempotent producer that is replaced when it breaks, and keeps all unacknowledged
messages.
"""

import asyncio
import uuid
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import prometheus_client
import structlog
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from common.amounts import counted
from common.clock import SYSTEM, Backoff
from common.errors import KafkaUnusable
from common.skew import Skew
from common.tasks import Tasks
from common.telemetry import Figure, Values, registered
from ingest.kafka import aiokafka_fixes
from ingest.kafka.reaching import explain_refusal
from ingest.model.numbers import int64_of
from ingest.model.topics import MAX_MESSAGE_BYTES, Topics, key_of
from ingest.normalize.dead_letters import Letter

SENT: Final = "sent"
"""The header that distinguishes a repeated message from a later one with the same content."""


class PublisherNumber(NamedTuple):
    """The publisher of a message, and its number for that key in that topic. They rise, usually by 1."""

    publisher: str
    number: int

    def header(self) -> bytes:
        return f"{self.number} {self.publisher}".encode()

    @classmethod
    def parse(cls, header: bytes) -> "PublisherNumber":
        """Parse a header. Raises ValueError if `header` did not write it."""
        number, publisher = header.decode().split(" ", 1)
        return cls(publisher, int64_of(number))


MESSAGES_SENT: Final = Figure("kafka_messages_sent", "counter", "Messages handed over for Kafka")
UNACKNOWLEDGED: Final = Figure("kafka_messages_unacknowledged", "gauge", "Messages not acknowledged by Kafka yet")
PRODUCERS: Final = Figure("kafka_producers_broken", "counter", "Producers that broke and were replaced")
RECORDS: Final = prometheus_client.Counter("leadsman_records", "Records sent to the logs", ["kind"])
DEAD_LETTERS: Final = Figure("dead_letters", "counter", "Input that could not be used", ("error_type",))

MAX_UNACKNOWLEDGED: Final = 10_000
"""Maximum number of messages that wait for Kafka; beyond it, the sender waits."""
MAX_NUMBERED: Final = 50_000
"""Number of keys of topics whose last number a publisher remembers, in about 10 MB."""
FIRST_BACKOFF_SECONDS: Final = 0.2
LONGEST_BACKOFF_SECONDS: Final = 10.0
STOP_SECONDS: Final = 5.0

BY_BROKER: Final = 1
"""A message's time is when the broker stored it."""
_ENDED: Final = "publishing to Kafka has ended: {}"
log = structlog.get_logger(__name__)


class PublisherEnded(Exception):
    """The publisher failed; its unacknowledged messages are not sent."""


class PartitionsChanged(KafkaUnusable):
    """A topic's number of partitions changed since it was first used."""


@dataclass(slots=True, eq=False)
class _Message:
    topic: str
    key: bytes
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]
    partition: int | None
    follows: bool = False
    acknowledged: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class _Numbers:
    """Numbers the messages of each topic and key. Numbers rise and never repeat, even for a key that was
    forgotten.
    """

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, bytes], int] = OrderedDict()
        self._forgotten = 0
        """The highest of a key that was forgotten."""

    def next(self, topic: str, key: bytes) -> int:
        number = self._last.pop((topic, key), self._forgotten) + 1
        if len(self._last) >= MAX_NUMBERED:
            self._forgotten = max(self._forgotten, self._last.popitem(last=False)[1])
        self._last[topic, key] = number
        return number


class Publisher:
    """Sends in order, each key's messages to one partition. Use it as a block; leaving the block does not flush.

    An error that it cannot handle, for example an unusable CA file, ends the block, which raises it. A producer that
    Kafka refuses for good (an out-of-order sequence, a timeout) is replaced. Unacknowledged messages are sent again
    in order: a message may arrive twice, but is never lost. Its header SENT identifies it. Until everything sent
    before is acknowledged, each replacement waits longer, and the process is not ready.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        options: aiokafka_fixes.Options | None = None,
        limit: int = MAX_UNACKNOWLEDGED,
        name: str | None = None,
        allowed: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`options` are aiokafka's. `limit` is the number of messages that may wait for Kafka before `send` waits.

        Publishers with the same `name` send each key the same messages in the same order: those that a log already
        has are not folded again. Without a name, it is unique. `allowed` is awaited before each request to Kafka.
        """
        self._limit = limit
        self._options = {
            "bootstrap_servers": bootstrap_servers,
            "acks": "all",
            "enable_idempotence": True,
            "compression_type": "zstd",
            "linger_ms": 5,
            "max_batch_size": 256 * 1024,
            "max_request_size": MAX_MESSAGE_BYTES,
            "partitioner": aiokafka_fixes.partition,
            **(options or {}),
        }
        self._name = name or uuid.uuid4().hex[:16]
        self._allowed = allowed
        self._producer: AIOKafkaProducer | None = None
        self._unacknowledged: dict[int, _Message] = {}
        self._ahead: OrderedDict[int, None] = OrderedDict()
        """Unacknowledged messages that wait for no others."""
        self._following: OrderedDict[int, _Message] = OrderedDict()
        """Messages that wait for some of these before they are sent."""
        self._due = asyncio.Event()
        """Set when the first of them may be sent."""
        self._sent = 0
        self.dead_letters: Counter[str] = Counter()
        self._numbers = _Numbers()
        self._partitions: dict[str, int] = {}
        """Partitions of each topic. With another number, a key's messages would continue in another partition."""
        self._room = asyncio.Semaphore(limit)
        self._order = asyncio.Lock()
        self._broken = asyncio.Event()
        self._backoff = Backoff(
            SYSTEM,
            initial_seconds=FIRST_BACKOFF_SECONDS,
            limit_seconds=LONGEST_BACKOFF_SECONDS,
            reset_seconds=LONGEST_BACKOFF_SECONDS,
            jitter=0.0,
        )
        self._breaks = 0
        self._refusal = ""
        """Reason why Kafka did not accept earlier messages; empty when it has."""
        self._refused_up_to = 0
        self._skew = Skew("kafka")
        self._ended: BaseException | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            stack.enter_context(registered(self._figures(), self._why_not))
            stack.push_async_callback(self._discard_producer)
            spawn = await stack.enter_async_context(Tasks())
            self._broken.set()
            spawn(self._ending(self._supervise))
            spawn(self._ending(self._send_following))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def send(
        self,
        topic: str,
        key: bytes,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes]] = (),
        partition: int | None = None,
        *,
        follows: bool = False,
    ) -> asyncio.Future[None]:
        """Queue a message; the future is done when Kafka has acknowledged it.

        Without a given partition the key chooses it, and such a message gets a number. A value of None deletes the
        key's message in a compacted topic. A message that `follows` is sent when Kafka has acknowledged all earlier
        messages that do not follow. All or none of a key's messages follow. The future raises
        MessageSizeTooLargeError for a message that our topics never accept; nothing else fails it. Raises
        PublisherEnded and PartitionsChanged.
        """
        await self._room.acquire()
        number = 0
        try:
            async with self._order:
                if self._ended is not None:
                    raise PublisherEnded(_ENDED.format(self._ended)) from self._ended
                number = self._sent = self._sent + 1
                if partition is None:  # states have their own numbers, because their keys are always new
                    headers = [*headers, (SENT, PublisherNumber(self._name, self._numbers.next(topic, key)).header())]
                message = _Message(topic, key, value, headers, partition, follows)
                self._unacknowledged[number] = message
                if not follows:
                    self._ahead[number] = None
                if follows and (self._ahead or self._following):
                    self._following[number] = message
                    return message.acknowledged
                await self._push(number, message)
        except asyncio.CancelledError:  # it was not queued, and its caller is gone
            if number:
                message.acknowledged.cancel()
                self._done(number, None)
            else:
                self._room.release()
            raise
        return message.acknowledged

    def leader_connection(self, topic: str, partition: int) -> object | None:
        """Return an object that identifies the connection to a partition's leader, None without one."""
        return self._producer and aiokafka_fixes.leader_connection(self._producer, TopicPartition(topic, partition))

    def _figures(self) -> dict[Figure, Callable[[], Values]]:
        return {
            MESSAGES_SENT: lambda: {(): self._sent},
            UNACKNOWLEDGED: lambda: {(): len(self._unacknowledged)},
            PRODUCERS: lambda: {(): self._breaks},
            DEAD_LETTERS: lambda: {(kind,): times for kind, times in self.dead_letters.items()},
        }

    def _why_not(self) -> Iterator[str]:
        if self._ended is not None:
            yield _ENDED.format(self._ended)
        if self._refusal:
            yield f"Kafka accepts no messages: {self._refusal}"
        if self._room.locked():
            yield f"limit: kafka.unacknowledged_messages, {self._limit} wait for Kafka, and their sources with them"

    async def flush(self) -> None:
        """Return when all messages sent so far are acknowledged; raises as the futures of `send`."""
        await asyncio.gather(*[message.acknowledged for message in list(self._unacknowledged.values())])

    async def _push(self, number: int, message: _Message) -> None:
        producer = self._producer
        if producer is None or self._broken.is_set():
            return
        try:
            await self._check_partitions(producer, message.topic)
            handed_over_at = SYSTEM.now()
            delivery = await producer.send(
                message.topic, message.value, message.key, message.partition, headers=message.headers
            )
        except MessageSizeTooLargeError as error:
            self._done(number, error)
        except KafkaError as error:
            self._break(producer, error)
        else:
            delivery.add_done_callback(lambda done: self._delivered(producer, number, handed_over_at, done))

    async def _check_partitions(self, producer: AIOKafkaProducer, topic: str) -> None:
        """Compare a topic's number of partitions with the first one seen. Raises PartitionsChanged."""
        number = len(await producer.partitions_for(topic))
        before = self._partitions.setdefault(topic, number)
        if number != before:
            raise PartitionsChanged(
                f"topic {topic} has {counted(number, 'partition')} now, and had {before}: one log would "
                "be on two of them, out of order. Set another kafka.topic_prefix to start with new topics"
            )

    def _delivered(
        self, producer: AIOKafkaProducer, number: int, handed_over_at: datetime, delivery: "asyncio.Future[Any]"
    ) -> None:
        error = asyncio.CancelledError() if delivery.cancelled() else delivery.exception()
        if error is None and (stored := delivery.result()).timestamp_type == BY_BROKER:
            stored_at = datetime.fromtimestamp(stored.timestamp / 1000, UTC)
            self._skew.measure(handed_over_at, stored_at, SYSTEM.now())
        if error is None or isinstance(error, MessageSizeTooLargeError):
            self._done(number, error)
        else:
            self._break(producer, error)

    def _done(self, number: int, error: BaseException | None) -> None:
        message = self._unacknowledged.pop(number, None)
        if message is None:
            return
        self._room.release()
        self._ahead.pop(number, None)
        if self._may_follow():
            self._due.set()
        if self._refusal and next(iter(self._unacknowledged), self._sent + 1) > self._refused_up_to:
            self._recover()
        if message.acknowledged.done():
            return
        if error is None:
            message.acknowledged.set_result(None)
        else:
            message.acknowledged.set_exception(error)

    def _break(self, producer: AIOKafkaProducer, error: BaseException) -> None:
        if producer is self._producer and not self._broken.is_set():
            log.warning("the producer broke and is replaced", error=explain_refusal(error))
            self._breaks += 1
            self._refusal = explain_refusal(error)
            self._refused_up_to = self._sent
            self._broken.set()

    def _recover(self) -> None:
        self._refusal = ""
        self._backoff.reset()

    def _may_follow(self) -> bool:
        """Tell whether the first message that follows others may be sent."""
        return bool(self._following) and next(iter(self._following)) < next(iter(self._ahead), self._sent + 1)

    async def _send_following(self) -> None:
        while True:
            await self._due.wait()
            async with self._order:
                self._due.clear()
                while self._may_follow():
                    await self._push(*self._following.popitem(last=False))

    async def _ending(self, act: Callable[[], Awaitable[None]]) -> None:
        """Run until an error after which nothing can be sent."""
        try:
            await act()
        except BaseException as error:
            self._ended = self._ended or error
            raise

    async def _supervise(self) -> None:
        while True:
            async with Tasks() as spawn:
                if self._producer is not None:
                    spawn(self._watch(self._producer))
                await self._broken.wait()
            async with self._order:
                await self._discard_producer()
            if self._refusal:
                await self._backoff.wait()
            async with self._order:
                await self._start_producer()

    async def _watch(self, producer: AIOKafkaProducer) -> None:
        try:
            await aiokafka_fixes.failure(producer)
        except Exception as error:  # noqa: BLE001  # another producer may work after any error
            self._break(producer, error)

    async def _start_producer(self) -> None:
        producer = AIOKafkaProducer(**self._options)
        aiokafka_fixes.hand_on(producer)
        if self._allowed is not None:
            aiokafka_fixes.send_when(producer, self._allowed)
        try:
            await producer.start()
            if topics := {message.topic for message in self._unacknowledged.values()}:
                await producer.client.set_topics(topics)  # otherwise the first refusal hides the others
        except BaseException as error:
            await aiokafka_fixes.discard(producer, STOP_SECONDS)
            if not isinstance(error, KafkaError | OSError):
                raise
            self._refusal = explain_refusal(error)
            log.warning("Kafka does not answer", error=self._refusal)
            return
        self._producer = producer
        self._broken.clear()
        if not self._unacknowledged:
            self._recover()
        for number, message in list(self._unacknowledged.items()):
            if number not in self._following:
                await self._push(number, message)

    async def _discard_producer(self) -> None:
        """Fence the old producer, because a late message from it could come after newer ones."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await aiokafka_fixes.discard(producer, STOP_SECONDS)


async def publish_dead_letter(publisher: Publisher, topics: Topics, letter: Letter) -> "asyncio.Future[None]":
    name, key = topics.dead_letters.name, key_of(letter.cluster, "")
    return await publisher.send(name, key, letter.payload, letter.headers())
