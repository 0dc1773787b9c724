"""Into Kafka: an idempotent producer that is made anew when it breaks, and nothing unacknowledged is forgotten."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from ingest.topics import MAX_MESSAGE_BYTES

MAX_UNACKNOWLEDGED: Final = 10_000
"""Messages that wait for Kafka; more make the sender wait."""
FIRST_BACKOFF_SECONDS: Final = 0.2
LONGEST_BACKOFF_SECONDS: Final = 10.0

Headers = Sequence[tuple[str, bytes]]
log = structlog.get_logger(__name__)


class _Message:
    __slots__ = ("acknowledged", "headers", "key", "topic", "value")

    def __init__(self, topic: str, key: bytes, value: bytes, headers: Headers) -> None:
        self.topic = topic
        self.key = key
        self.value = value
        self.headers = headers
        self.acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class Publisher:
    """Sends in order, each key's messages to one partition. An async context manager.

    A producer that Kafka refuses for good (an out-of-order sequence, a time-out) is replaced, and what was not
    acknowledged is sent again in its order: a message may arrive twice, never not at all.
    """

    def __init__(self, bootstrap_servers: str, options: Mapping[str, Any] | None = None) -> None:
        self._options = {
            "bootstrap_servers": bootstrap_servers,
            "acks": "all",
            "enable_idempotence": True,
            "compression_type": "lz4",
            "linger_ms": 5,
            "max_request_size": MAX_MESSAGE_BYTES,
            **(options or {}),
        }
        self._producer: AIOKafkaProducer | None = None
        self._unacknowledged: dict[int, _Message] = {}
        self._sent = 0
        self._room = asyncio.Semaphore(MAX_UNACKNOWLEDGED)
        self._order = asyncio.Lock()
        self._broken = asyncio.Event()
        self._supervisor: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._broken.set()
        self._supervisor = asyncio.create_task(self._supervise())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.gather(self._supervisor, return_exceptions=True)
        await self._stop_producer()

    async def send(self, topic: str, key: bytes, value: bytes, headers: Headers = ()) -> asyncio.Future[None]:
        """Hand a message over; the future is done when Kafka has acknowledged it."""
        await self._room.acquire()
        message = _Message(topic, key, value, headers)
        async with self._order:
            self._sent += 1
            self._unacknowledged[self._sent] = message
            await self._push(self._sent, message)
        return message.acknowledged

    async def flush(self) -> None:
        """Return when all that was sent so far is acknowledged."""
        await asyncio.gather(*[message.acknowledged for message in list(self._unacknowledged.values())])

    async def _push(self, number: int, message: _Message) -> None:
        if self._producer is None or self._broken.is_set():
            return
        try:
            delivery = await self._producer.send(
                message.topic, message.value, key=message.key, headers=list(message.headers)
            )
        except KafkaError as error:
            self._break(error)
        else:
            delivery.add_done_callback(lambda done: self._delivered(number, done))

    def _delivered(self, number: int, delivery: "asyncio.Future[Any]") -> None:
        error = asyncio.CancelledError() if delivery.cancelled() else delivery.exception()
        if error is not None:
            self._break(error)
            return
        message = self._unacknowledged.pop(number, None)
        if message is not None:
            self._room.release()
            if not message.acknowledged.done():
                message.acknowledged.set_result(None)

    def _break(self, error: BaseException) -> None:
        if not self._broken.is_set():
            log.warning("the producer is broken and made anew", error=repr(error))
            self._broken.set()

    async def _supervise(self) -> None:
        backoff = FIRST_BACKOFF_SECONDS
        while True:
            await self._broken.wait()
            async with self._order:
                await self._stop_producer()
                producer = AIOKafkaProducer(**self._options)
                try:
                    await producer.start()
                except (KafkaError, OSError) as error:
                    await producer.stop()
                    log.warning("Kafka does not answer", error=repr(error), again_in_seconds=backoff)
                else:
                    self._producer = producer
                    self._broken.clear()
                    backoff = FIRST_BACKOFF_SECONDS
                    for number, message in list(self._unacknowledged.items()):
                        await self._push(number, message)
                    continue
            await asyncio.sleep(backoff)
            backoff = min(2 * backoff, LONGEST_BACKOFF_SECONDS)

    async def _stop_producer(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            try:
                await asyncio.wait_for(producer.stop(), timeout=5)
            except (TimeoutError, KafkaError, OSError) as error:
                log.warning("the broken producer did not stop in order", error=repr(error))
