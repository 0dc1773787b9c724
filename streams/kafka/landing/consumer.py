"""Writes topics to a store, exactly once for every query: intent, insert, commit (delivery.md#landing).

1. Commit the intent: each partition's first offset, with the ranges that are stored together and a random token in
the metadata. A crash after that can no longer change what is stored together.

2. Insert the ranges under that token. The store keeps one copy of what is inserted twice under one token, so a
repeated insert is harmless.

3. Commit the end of each range. It comes last: a commit before the insert would lose messages in a crash.

4. After a crash, the next owner of any of these partitions reads the intent, and first inserts exactly the same
ranges under the same token. Under another one, the store would keep both copies.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, OffsetAndMetadata, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from common.amounts import size
from common.tasks import Tasks, grace
from common.telemetry import STAGE_SECONDS, Figure, Values, registered
from common.tls import check_files
from ingest.kafka import aiokafka_fixes, reaching
from ingest.model.topics import MAX_MESSAGE_BYTES
from streams.kafka import metrics
from streams.kafka.gaps import Gaps
from streams.kafka.landing.portion import Begun, Buffers, Portion
from streams.kafka.landing.ranges import read_logs, read_ranges
from streams.kafka.landing.resume import UNKNOWN, UNKNOWN_MS, Landed, ReceivedOffsets, Resume, resume
from streams.kafka.landing.store import FIRST_BACKOFF_SECONDS, Abandoned, Store, StoreThread, new_backoff
from streams.kafka.message import message_of_record
from streams.kafka.retention import RetentionWatch
from streams.kafka.settings import LandSettings

SESSION_MS: Final = 20_000
POLL_MS: Final = 100
NEVER_MS: Final = 2**31 - 1
"""Longest time between polls, because an insert waits while the database is down. Heartbeats keep the membership."""
FETCH_BYTES: Final = 32 * 1024 * 1024
MAX_RECORDS: Final = 5_000
REVOCATION_SECONDS: Final = 15.0
"""Time that a rebalance waits for a running insert; shorter than the session."""
GRACE_SECONDS: Final = 20.0
CHECK_SECONDS: Final = 60.0
"""Time between comparisons of progress, commits and topics."""
LEADER_SECONDS: Final = 5.0
"""Time after which a partition without a leader is tried again."""
log = structlog.get_logger(__name__)


class Landing:
    """Consumes topics and passes portions to a store on its own thread. A refused portion blocks all others."""

    def __init__(
        self,
        topics: Sequence[str],
        bootstrap_servers: str,
        store: Store,
        *,
        group: str,
        instance: str | None = None,
        settings: LandSettings | None = None,
        client_options: aiokafka_fixes.Options | None = None,
        gaps: Gaps | None = None,
    ) -> None:
        self._options = options = {"bootstrap_servers": bootstrap_servers, **(client_options or {})}
        self._topics = topics
        self._group = group
        self._settings = settings or LandSettings()
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
            check_crcs=False,  # TCP has checksums, and the broker has checked the content
        )
        self._buffers = Buffers(self._settings, time.monotonic)
        self._unknown: set[TopicPartition] = set()
        """Partitions whose progress must be read first: just assigned, or perhaps with a replaced log."""
        self._leaderless: set[TopicPartition] = set()
        """Partitions without a leader, or whose begun portion includes such a partition."""
        self._known: set[TopicPartition] = set()
        """Partitions that may be stored. Messages of others belong to another lander, or are received again."""
        self._revoking = False
        self._generation = 0
        """Messages received in an older generation are not stored."""
        self._next: dict[TopicPartition, int] = {}
        """Next offset to store of each partition with received messages."""
        self._received: dict[TopicPartition, Landed] = {}
        """The offset after the last received message of each partition, and the time of that message."""
        self._connections: dict[TopicPartition, object] = {}
        """Connection to the leader over which each partition was received."""
        self._landed: Counter[tuple[str, ...]] = Counter()
        """Number of stored messages by topic."""
        self._newest: dict[tuple[str, ...], float] = {}
        self._joined = False
        self._kafka = ""
        """Id of the Kafka cluster."""
        self._checked_at = time.monotonic()
        self._ignorance = ""
        """Reason why the partitions' commits cannot be read; empty if they can."""
        self._busy = asyncio.Lock()
        self._storing = StoreThread(store)
        self._gaps = gaps or Gaps()
        self._arrivals = ReceivedOffsets(self._gaps)
        self._retention = RetentionWatch(group, options, self._consumer.assignment, self._gaps)

    async def run(self, stop: asyncio.Event) -> None:
        """Land until `stop`. A portion that is being stored is finished if that takes at most GRACE_SECONDS.

        Raises the store's errors, except TransientFailure, which is retried; KafkaError; or FilesUnusable.
        """
        self._consumer.subscribe(list(self._topics), listener=_Listener(self))
        try:
            async with aiokafka_fixes.started(self._admin), aiokafka_fixes.started(self._consumer):
                self._kafka = (await self._admin.describe_cluster())["cluster_id"] or ""
                with registered(self._figures(), self._why_not):
                    async with grace(stop, GRACE_SECONDS), Tasks() as spawn:
                        spawn(aiokafka_fixes.failure(self._consumer))
                        spawn(self._retention.run())
                        await self._land_until(stop)
        except TimeoutError:
            if not stop.is_set():
                raise
            log.warning("the running insert did not finish in time; the next start repeats it")
        except KafkaError:
            check_files(self._options.values())  # aiokafka can hide why a connection failed
            raise

    async def revoked(self) -> None:
        """Finish the portion that is being stored, if there is time, and forget all other messages."""
        self._revoking = True
        try:
            await asyncio.wait_for(self._busy.acquire(), REVOCATION_SECONDS)
            self._busy.release()
        except TimeoutError:
            log.warning("an insert outlasts the rebalance; the next owner of its partitions repeats it")
        self._generation += 1
        self._revoking = False
        self._buffers.clear()
        self._unknown.clear()
        self._known.clear()
        self._arrivals.clear()
        self._next.clear()
        self._received.clear()
        self._connections.clear()

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Mark partitions as unknown: nothing of them is stored before their unfinished portions are known."""
        self._unknown |= set(partitions)
        self._joined = True

    def _figures(self) -> dict[Figure, Callable[[], Values]]:
        return {
            metrics.LANDED: lambda: self._landed,
            metrics.LANDED_AT: lambda: self._newest,
            metrics.LAG: self._lag,
            metrics.BUFFERED: lambda: {(): self._buffers.bytes},
            metrics.GAPS: lambda: self._gaps.counts,
            metrics.RETENTION_NEAR: self._retention.figure,
            metrics.NOT_STORED: lambda: {(): self._storing.refusals},
        }

    def _lag(self) -> Values:
        lag: Counter[tuple[str, ...]] = Counter()
        for tp, offset in self._next.items():
            lag[(tp.topic,)] += max((self._consumer.highwater(tp) or offset) - offset, 0)
        return lag

    def _why_not(self) -> Iterator[str]:
        if not self._joined:
            yield "partitions are being assigned"
        for topic in self._topics if self._joined else ():
            if not self._consumer.partitions_for_topic(topic):
                yield f"topic {topic} no longer exists, or its brokers are down: restart to recreate it"
        if self._ignorance:
            yield self._ignorance
        for tp in sorted(self._leaderless & (self._unknown | self._known)):
            yield f"{tp.topic}/{tp.partition} waits for a leader; the other partitions land"
        yield from self._gaps.why_not()
        yield from self._retention.why_not()
        if self._storing.refusal:
            yield f"the database cannot be used now: {self._storing.refusal}"
        if self._buffers.full:
            yield f"limit: land.buffered_bytes, {size(self._settings.buffered_bytes)} of messages wait to be stored"

    async def _land_until(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self._receive()
            async with self._busy:
                try:
                    if self._must_learn():
                        await self._learn(stop)
                    if portions := list(self._buffers.cut_due()):
                        await self._land(portions, stop)
                except Abandoned:
                    log.warning("partitions were revoked, or the lander stopped, before everything was stored")
                except (CommitFailedError, IllegalStateError):
                    log.warning("offsets were not committed because the group was rebalanced")

    def _must_learn(self) -> bool:
        passed = time.monotonic() - self._checked_at
        return (
            bool(self._unknown - self._leaderless)
            or (bool(self._leaderless & (self._unknown | self._known)) and passed >= LEADER_SECONDS)
            or (bool(self._known) and passed >= CHECK_SECONDS)
        )

    async def _learn(self, stop: asyncio.Event) -> None:
        """Read and finish the portions of earlier landers, and seek each partition behind its stored messages.

        Known partitions are read again where a gap was found. Until aiokafka knows the next assignment, it still
        returns messages of the last one.
        """
        generation, is_ours = self._generation, self._is_ours()
        self._checked_at = time.monotonic()
        try:
            leaderless = await aiokafka_fixes.leaderless(self._admin, self._topics)
            unknown = self._unknown - leaderless
            partitions = unknown | (self._known - leaderless)
            if not partitions:
                self._wait_for_leaders(leaderless)
                return
            found = await aiokafka_fixes.committed(self._admin, self._group, partitions)
            landed = await self._storing.landed(self._kafka, stop, is_ours)
            logs = await read_logs(self._options, partitions, landed | self._received)
            resumes = {
                tp: resume(tp, found[tp].offset, landed.get(tp), logs[tp], self._received.get(tp))
                for tp in partitions
            }
            unknown |= {tp for tp in partitions & self._known if resumes[tp].gaps}
            begun = {
                tp: each
                for tp in unknown
                if (each := Begun.of(tp, found[tp], self._kafka)) and each.follows(landed) and not resumes[tp].gaps
            }
            waiting = {tp for tp, each in begun.items() if leaderless & each.stored.keys()}
            self._wait_for_leaders(leaderless | waiting)
            unknown -= waiting
            begun = {tp: each for tp, each in begun.items() if tp not in waiting}
            finished = {
                each for each in dict.fromkeys(begun.values()) if await self._finish(each, begun, stop, is_ours)
            }
        except (CommitFailedError, IllegalStateError):
            raise
        except (KafkaError, TimeoutError) as error:
            self._ignorance = f"Kafka does not report what was begun: {reaching.explain_refusal(error)}"
            log.warning("Kafka does not report what was begun", error=reaching.explain_refusal(error))
            await asyncio.sleep(FIRST_BACKOFF_SECONDS)
            return
        self._ignorance = ""
        if generation != self._generation:
            return
        starts: dict[TopicPartition, Landed] = {}
        for tp in unknown:
            if tp in self._received and not resumes[tp].gaps:
                self._consumer.seek(tp, self._arrivals.next(tp))  # the leader changed, and the log is the same
                continue
            is_finished = begun.get(tp) in finished
            at = self._seek(tp, resumes[tp], logs[tp].earliest, begun[tp].stored[tp].offset if is_finished else 0)
            if resumes[tp].gaps or (landed.get(tp, UNKNOWN).end != at and not is_finished):
                starts[tp] = Landed(at, UNKNOWN_MS)
        await self._storing.resume_from(starts, stop, is_ours)
        if again := {tp: OffsetAndMetadata(at.end, "") for tp, at in starts.items() if resumes[tp].gaps}:
            await self._commit(again)
        if generation != self._generation:
            return
        self._unknown -= unknown
        self._known |= unknown

    def _wait_for_leaders(self, partitions: set[TopicPartition]) -> None:
        if new := partitions & (self._unknown | self._known) - self._leaderless:
            log.warning("partitions wait for a leader, and the others land", partitions=str(sorted(new)))
        self._leaderless = partitions

    def _seek(self, tp: TopicPartition, how: Resume, earliest: int, finished: int) -> int:
        """Seek to the first offset that is not stored, or to `finished` if that is later; return it."""
        for gap in how.gaps:
            self._gaps.add(gap)
        at = self._arrivals.start(tp, how.stored, earliest)
        if at < finished:
            self._arrivals.add(tp, at, finished - 1)
            at = finished
        self._buffers.forget(tp)
        self._next.pop(tp, None)
        self._received.pop(tp, None)
        self._consumer.seek(tp, at)
        return at

    async def _finish(
        self, begun: Begun, by: Mapping[TopicPartition, Begun], stop: asyncio.Event, is_ours: Callable[[], bool]
    ) -> bool:
        """Store an unfinished portion, including partitions that now belong to others, and commit ours.

        Returns False if the topic was recreated. Messages that retention has deleted are skipped.
        """
        ours = [tp for tp, each in by.items() if each == begun]
        ends = await self._consumer.end_offsets(list(begun.stored))
        if any(at.offset > ends[tp] for tp, at in begun.stored.items()):
            log.warning("what was begun ends past the topic's end: the topic was recreated", partitions=str(ours))
            return False
        log.info("a portion was begun and is stored first", partitions=str(ours))
        messages = await read_ranges(self._options, begun, lambda: is_ours() and not stop.is_set())
        if messages:
            portion = begun.portion(messages)
            await self._storing.store(portion, {tp: portion.landed[tp] for tp in ours}, stop, is_ours)
        else:
            log.warning("an intent names messages that the topic no longer has", partitions=str(ours))
        if not is_ours():
            raise Abandoned
        await self._commit({tp: begun.stored[tp] for tp in ours})
        return True

    def _is_ours(self) -> Callable[[], bool]:
        """Return a function that tells whether the current partitions still belong to this lander."""
        generation = self._generation
        return lambda: not self._revoking and generation == self._generation

    async def _receive(self) -> None:
        received = await self._consumer.getmany(timeout_ms=POLL_MS, max_records=MAX_RECORDS)
        for tp in list(self._known):
            records = received.get(tp, ())
            if self._has_reconnected(tp, records[0].offset if records else None):
                self._known.discard(tp)
                self._unknown.add(tp)
            elif records:
                self._buffers.add(tp, [message_of_record(record) for record in records])
                self._next.setdefault(tp, records[0].offset)
                self._arrivals.add(tp, records[0].offset, records[-1].offset)
                self._received[tp] = Landed(records[-1].offset + 1, records[-1].timestamp)

    def _has_reconnected(self, tp: TopicPartition, first: int | None) -> bool:
        """Note the leader's connection; return True if it, the leader or the offset shows that the log may be new."""
        connection = aiokafka_fixes.leader_connection(self._consumer, tp)
        if connection is None:
            return first is not None
        before, self._connections[tp] = self._connections.get(tp, connection), connection
        return before is not connection or (first is not None and first < self._arrivals.next(tp))

    async def _land(self, portions: Sequence[Portion], stop: asyncio.Event) -> None:
        generation, is_ours = self._generation, self._is_ours()
        await self._commit({tp: intent for each in portions for tp, intent in each.intents(self._kafka).items()})
        for each in portions:
            began = time.perf_counter()
            await self._storing.store(each, each.landed, stop, is_ours)
            self._stored(each, time.perf_counter() - began)
        if generation != self._generation:
            raise Abandoned
        await self._commit({tp: stored for each in portions for tp, stored in each.stored.items()})

    def _stored(self, portion: Portion, seconds: float) -> None:
        STAGE_SECONDS.labels("land").observe(seconds)
        topic = (portion.topic,)
        self._landed[topic] += len(portion.messages)
        newest_ms = max(message.timestamp_ms for message in portion.messages)
        self._newest[topic] = max(self._newest.get(topic, 0.0), newest_ms / 1000)
        self._next |= {tp: stored.offset for tp, stored in portion.stored.items()}

    async def _commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        backoff, generation = new_backoff(), self._generation
        while True:
            try:
                await self._consumer.commit(dict(offsets))
            except (CommitFailedError, IllegalStateError):
                raise
            except KafkaError as error:
                if not error.retriable:
                    raise
                if self._revoking or generation != self._generation:
                    raise Abandoned from None
                wait_seconds = backoff.next_seconds()
                why = reaching.explain_refusal(error)
                log.warning("Kafka did not accept the offsets", error=why, again_in_seconds=wait_seconds)
                await asyncio.sleep(wait_seconds)
            else:
                return


class _Listener(ConsumerRebalanceListener):
    def __init__(self, landing: Landing) -> None:
        self._landing = landing

    async def on_partitions_revoked(self, _: Collection[TopicPartition]) -> None:
        await self._landing.revoked()

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self._landing.assigned(assigned)
