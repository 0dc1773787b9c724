"""From topics to a store, exactly once as far as a query can see: intent, insert, commit (delivery.md#landing).

Before a range of a partition is stored, its end is committed as the metadata of its first offset. Whoever takes up
the partition after a crash reads that, and stores exactly this range again, under the same token, before anything
else. What is stored twice under one token is there once.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, NamedTuple

import msgspec
import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, OffsetAndMetadata, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from common.telemetry import STAGE_SECONDS, Figure, Values, telling
from ingest.model.topics import MAX_MESSAGE_BYTES
from streams.kafka import metrics

SESSION_MS: Final = 20_000
POLL_MS: Final = 100
NEVER_MS: Final = 2**31 - 1
"""A poll may take as long as the database is away; whether we live is told by the heartbeats."""
FETCH_BYTES: Final = 32 * 1024 * 1024
MAX_RECORDS: Final = 5_000
FIRST_BACKOFF_SECONDS: Final = 0.2
LONGEST_BACKOFF_SECONDS: Final = 10.0
REVOCATION_SECONDS: Final = 15.0
"""How long a rebalance waits for the insert that runs; less than the session."""
GRACE_SECONDS: Final = 20.0
log = structlog.get_logger(__name__)


class Portion(NamedTuple):
    """The messages of a partition from offset `start` to `end`, both inclusive, that are stored at once."""

    topic: str
    partition: int
    start: int
    end: int
    messages: Sequence[Any]

    @property
    def source(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def token(self) -> str:
        """The same for the same range; another one where the topic was made anew and counts from 0 again."""
        return f"{self.topic}:{self.partition}:{self.start}-{self.end}@{self.messages[-1].timestamp}"


class Limits(NamedTuple):
    """When what was received is stored: the first that is reached."""

    messages: int = 20_000
    """Of a partition."""
    bytes: int = 16 * 1024 * 1024
    """Of a partition; it bounds the rows, for none takes less than about 100 bytes."""
    seconds: float = 2.0
    buffered_bytes: int = 64 * 1024 * 1024
    """Of all partitions together: nothing more is fetched until some of it is stored."""


DEFAULT_LIMITS: Final = Limits()


class TransientFailure(Exception):
    """The store cannot take it now; the same portion is tried again."""


class _End(msgspec.Struct):
    """The metadata of an intent."""

    end: int


class _Range(NamedTuple):
    start: int
    end: int


class _Abandoned(Exception):
    """The partitions went to another consumer, who finishes what was begun."""


class _Buffer:
    __slots__ = ("bytes", "messages", "since")

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.bytes = 0
        self.since = time.monotonic()

    def add(self, messages: Sequence[Any]) -> None:
        self.messages += messages
        self.bytes += sum(len(message.value or b"") for message in messages)


class Landing:
    """Consumes topics and hands portions to `store`, which runs on one thread of its own.

    `store` returns when a portion is stored, and raises TransientFailure where the same portion is to be tried
    again; any other exception ends `run`.
    """

    def __init__(
        self,
        topics: Sequence[str],
        bootstrap_servers: str,
        store: Callable[[Portion], None],
        *,
        group: str,
        instance: str | None = None,
        limits: Limits = DEFAULT_LIMITS,
        client_options: Mapping[str, Any] | None = None,
    ) -> None:
        options = {"bootstrap_servers": bootstrap_servers, **(client_options or {})}
        self._topics = topics
        self._group = group
        self._limits = limits
        self._admin = AIOKafkaAdminClient(**options)
        self._consumer = AIOKafkaConsumer(
            **options,
            group_id=group,
            group_instance_id=instance,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=SESSION_MS // 5,
            max_poll_interval_ms=NEVER_MS,
            max_partition_fetch_bytes=MAX_MESSAGE_BYTES,
            fetch_max_bytes=FETCH_BYTES,
            check_crcs=False,  # TCP checks, and the broker did
        )
        self._buffers: dict[TopicPartition, _Buffer] = {}
        self._begun: dict[TopicPartition, _Range] = {}
        self._unknown: set[TopicPartition] = set()
        """Partitions of which it is not known yet whether a range of them was begun."""
        self._known: set[TopicPartition] = set()
        """Those of which it is; what is received of others is not ours, or is received again."""
        self._revoking = False
        self._generation = 0
        """What was received in an older one is not stored in this."""
        self._next: dict[TopicPartition, int] = {}
        """What is stored next, of each partition that something was received of."""
        self._landed: Counter[tuple[str, ...]] = Counter()
        self._newest: dict[tuple[str, ...], float] = {}
        self._refusals = 0
        self._refusal = ""
        """Why the store takes nothing now."""
        self._joined = False
        self._busy = asyncio.Lock()
        self._thread = _StoreThread(store)

    async def run(self, stop: asyncio.Event) -> None:
        """Land until `stop`; a portion that is being stored then is finished, if it ends within GRACE_SECONDS."""
        await self._admin.start()
        try:
            self._consumer.subscribe(list(self._topics), listener=_Listener(self))
            await self._consumer.start()
            with telling(self._figures(), self._why_not):
                landing = asyncio.ensure_future(self._land_until(stop))
                stopping = asyncio.ensure_future(stop.wait())
                await asyncio.wait([landing, stopping], return_when=asyncio.FIRST_COMPLETED)
                stopping.cancel()
                await asyncio.wait_for(landing, GRACE_SECONDS)
        except TimeoutError:
            log.warning("the running insert did not end in time; the next start repeats it")
        finally:
            await self._consumer.stop()
            await self._admin.close()

    async def revoked(self) -> None:
        """Finish what is being stored, if it ends in time, and forget the rest."""
        self._revoking = True
        try:
            await asyncio.wait_for(self._busy.acquire(), REVOCATION_SECONDS)
            self._busy.release()
        except TimeoutError:
            log.warning("an insert outlasts the rebalance; the next owner of its partitions repeats it")
        self._generation += 1
        self._revoking = False
        self._buffers.clear()
        self._begun.clear()
        self._unknown.clear()
        self._known.clear()
        self._next.clear()

    def _figures(self) -> dict[Figure, Callable[[], Values]]:
        return {
            metrics.LANDED: lambda: self._landed,
            metrics.LANDED_AT: lambda: self._newest,
            metrics.LAG: self._lag,
            metrics.BUFFERED: lambda: {(): self._buffered_bytes()},
            metrics.NOT_STORED: lambda: {(): self._refusals},
        }

    def _lag(self) -> Values:
        lag: Counter[tuple[str, ...]] = Counter()
        for tp, offset in self._next.items():
            lag[(tp.topic,)] += max((self._consumer.highwater(tp) or offset) - offset, 0)
        return lag

    def _buffered_bytes(self) -> int:
        return sum(each.bytes for each in self._buffers.values())

    def _why_not(self) -> Iterator[str]:
        if not self._joined:
            yield "partitions are being assigned"
        if self._refusal:
            yield f"the database stores nothing now: {self._refusal}"
        if self._buffered_bytes() >= self._limits.buffered_bytes:
            yield f"limit: land.buffered_bytes, {self._limits.buffered_bytes} bytes wait to be stored"

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Nothing of the partitions is stored before it is known what was begun."""
        self._unknown |= set(partitions)
        self._joined = True

    async def _land_until(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self._receive()
            async with self._busy:
                if self._unknown:
                    await self._learn()
                await self._land_due(stop)

    async def _learn(self) -> None:
        """Learn which ranges were begun and perhaps not finished, and receive from where the group stands.

        Until aiokafka knows the next assignment, it goes on to give what it fetched for the last one.
        """
        generation, unknown = self._generation, set(self._unknown)
        try:
            found = await self._admin.list_consumer_group_offsets(self._group, partitions=list(unknown))
            begun = {
                tp: _Range(at.offset, msgspec.json.decode(at.metadata, type=_End).end)
                for tp, at in found.items()
                if at.metadata
            }
            ends = await self._consumer.end_offsets(list(begun)) if begun else {}
            starts = {tp: found[tp].offset for tp in unknown}
            if new := [tp for tp, offset in starts.items() if offset < 0]:
                starts |= await self._consumer.beginning_offsets(new)
        except KafkaError as error:
            log.warning("Kafka does not tell what was begun", error=repr(error))
            await asyncio.sleep(FIRST_BACKOFF_SECONDS)
            return
        if generation != self._generation:
            return
        for tp, offset in starts.items():
            self._consumer.seek(tp, offset)
        self._unknown -= unknown
        self._known |= unknown
        for tp, each in begun.items():
            if each.end < ends[tp]:
                self._begun[tp] = each
                log.info("a range was begun and is stored first", partition=str(tp), start=each.start, end=each.end)
            else:
                log.warning("a range was begun whose end the topic has not: it was made anew", partition=str(tp))

    async def _receive(self) -> None:
        received = await self._consumer.getmany(timeout_ms=POLL_MS, max_records=MAX_RECORDS)
        for tp in received.keys() & self._known:
            self._buffers.setdefault(tp, _Buffer()).add(received[tp])
            self._next.setdefault(tp, received[tp][0].offset)

    async def _land_due(self, stop: asyncio.Event) -> None:
        due = [(tp, buffer) for tp, buffer in self._buffers.items() if self._due(tp, buffer)]
        portions = [portion for tp, buffer in due if (portion := self._cut(tp, buffer))]
        if not portions:
            return
        try:
            await self._land(portions, stop)
        except _Abandoned:
            log.warning("partitions were revoked, or the end has come, before all was stored")
        except (CommitFailedError, IllegalStateError) as error:
            log.warning("offsets were not committed, for the group was rebalanced", error=repr(error))

    def _due(self, tp: TopicPartition, buffer: _Buffer) -> bool:
        begun = self._begun.get(tp)
        if begun is not None:
            return bool(buffer.messages[-1].offset >= begun.end)
        limits = self._limits
        return (
            buffer.bytes >= limits.bytes
            or len(buffer.messages) >= limits.messages
            or time.monotonic() - buffer.since >= limits.seconds
            or self._buffered_bytes() >= limits.buffered_bytes
        )

    def _cut(self, tp: TopicPartition, buffer: _Buffer) -> Portion | None:
        """Take from a buffer what is stored next: the range that was begun, or all."""
        del self._buffers[tp]
        begun = self._begun.pop(tp, None)
        if begun is None:
            start, end = buffer.messages[0].offset, buffer.messages[-1].offset
            return Portion(tp.topic, tp.partition, start, end, buffer.messages)
        messages = [message for message in buffer.messages if message.offset <= begun.end]
        if later := buffer.messages[len(messages) :]:
            self._buffers[tp] = _Buffer()
            self._buffers[tp].add(later)
        if not messages:
            log.warning("a range was begun that the topic keeps no longer", partition=str(tp))
            return None
        return Portion(tp.topic, tp.partition, begun.start, begun.end, messages)

    async def _land(self, portions: Sequence[Portion], stop: asyncio.Event) -> None:
        generation = self._generation
        intents = {each.source: OffsetAndMetadata(each.start, _metadata(each.end)) for each in portions}
        await self._commit(intents)
        for each in portions:
            began = time.perf_counter()
            await self._store(each, generation, stop)
            self._stored(each, time.perf_counter() - began)
        if generation != self._generation:
            raise _Abandoned
        await self._commit({each.source: OffsetAndMetadata(each.end + 1, "") for each in portions})

    def _stored(self, portion: Portion, seconds: float) -> None:
        STAGE_SECONDS.labels("land").observe(seconds)
        self._landed[(portion.topic,)] += len(portion.messages)
        self._newest[(portion.topic,)] = max(
            self._newest.get((portion.topic,), 0.0), portion.messages[-1].timestamp / 1000
        )
        self._next[portion.source] = portion.end + 1

    async def _store(self, portion: Portion, generation: int, stop: asyncio.Event) -> None:
        """Return when the portion is stored, however often that must be tried."""
        backoff = FIRST_BACKOFF_SECONDS
        while not (self._revoking or stop.is_set() or generation != self._generation):
            try:
                await self._thread.store(portion)
            except TransientFailure as failure:
                self._refusals += 1
                self._refusal = str(failure)
                log.warning("not stored yet", range=portion.token, reason=str(failure), again_in_seconds=backoff)
            else:
                self._refusal = ""
                return
            await _sleep(backoff, stop)
            backoff = min(2 * backoff, LONGEST_BACKOFF_SECONDS)
        raise _Abandoned

    async def _commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        backoff, generation = FIRST_BACKOFF_SECONDS, self._generation
        while True:
            try:
                await self._consumer.commit(offsets)
            except (CommitFailedError, IllegalStateError):
                raise
            except KafkaError as error:
                if not error.retriable:
                    raise
                if self._revoking or generation != self._generation:
                    raise _Abandoned from None
                log.warning("Kafka did not take the offsets", error=repr(error), again_in_seconds=backoff)
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, LONGEST_BACKOFF_SECONDS)
            else:
                return


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no types
    def __init__(self, landing: Landing) -> None:
        self._landing = landing

    async def on_partitions_revoked(self, _: Collection[TopicPartition]) -> None:
        await self._landing.revoked()

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self._landing.assigned(assigned)


class _StoreThread:
    """The one thread that stores; it does not keep a process alive whose database hangs."""

    def __init__(self, store: Callable[[Portion], None]) -> None:
        self._store = store
        self._waiting: SimpleQueue[tuple[Portion, Future[None]]] = SimpleQueue()
        Thread(target=self._run, name="landing", daemon=True).start()

    async def store(self, portion: Portion) -> None:
        """Raises what storing raises."""
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


def _metadata(end: int) -> str:
    return msgspec.json.encode(_End(end)).decode()


async def _sleep(seconds: float, stop: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return
