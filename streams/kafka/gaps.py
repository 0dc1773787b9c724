"""Finds missing messages, and reports them in the log, as a metric, on /readyz and in `source_errors`."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, Protocol

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from common.clock import SYSTEM, Backoff
from ingest.kafka import aiokafka_fixes
from ingest.kafka.admin import settings_of
from ingest.kafka.publish import Publisher
from ingest.kafka.reaching import explain_refusal
from ingest.model.records import Problem, SourceErrorRecord
from ingest.model.topics import MAX_MESSAGE_BYTES, Topics, cluster_of, encode_record, headers_of, key_of
from streams.kafka.changelog import Changelog, LastMessage
from streams.kafka.takeover import Gap, start

SHOWN_SECONDS: Final = 600.0
"""Time for which /readyz reports a gap."""
MOST_REPORTED: Final = 10_000
"""Number of gaps that are remembered, the newest ones: a reader that stays behind retention always finds more."""
log = structlog.get_logger(__name__)


class Reported(Protocol):
    """A report about messages of a partition that becomes a row of `source_errors`."""

    @property
    def kind(self) -> str: ...
    @property
    def problem(self) -> Problem: ...
    @property
    def resource(self) -> str: ...
    @property
    def error(self) -> str: ...
    @property
    def first(self) -> int: ...
    @property
    def end(self) -> int: ...


class Gaps:
    """Collects the gaps that a process has found, with the clusters that they may concern."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, ...]] = Counter()
        """Messages by topic and kind."""
        self._reported: dict[Gap, None] = {}
        self._shown: list[tuple[float, Gap]] = []
        self._found: asyncio.Queue[tuple[Reported, list[str]]] = asyncio.Queue()

    def add(self, gap: Gap, clusters: Iterable[str] = ()) -> None:
        """Report a gap at once, except its rows, which `publish` makes; `clusters` is empty if none is known. Until
        something behind it is committed it is found repeatedly, and reported once.
        """
        known = gap in self._reported
        self._reported.pop(gap, None)
        self._reported[gap] = None  # found again after earlier ones
        if known:
            return
        if len(self._reported) > MOST_REPORTED:
            del self._reported[next(iter(self._reported))]
        log.error("messages are missing", resource=gap.resource, messages=gap.message_count, reason=gap.error)
        self.counts[gap.topic, gap.kind] += gap.message_count
        self._shown = [*self._shown_still(), (time.monotonic(), gap)]
        self.publish_soon(gap, clusters)

    def publish_soon(self, found: Reported, clusters: Iterable[str]) -> None:
        """Queue only the rows of a report, which `publish` makes."""
        self._found.put_nowait((found, sorted(set(clusters)) or [""]))

    def why_not(self) -> Iterator[str]:
        """Yield reasons for /readyz."""
        for _, gap in self._shown_still():
            yield f"{gap.resource}: {gap.error}"

    def _shown_still(self) -> list[tuple[float, Gap]]:
        now = time.monotonic()
        return [each for each in self._shown if now - each[0] < SHOWN_SECONDS]

    async def found(self) -> None:
        """Return when there is something to publish."""
        self._found.put_nowait(await self._found.get())
        self._found.task_done()

    async def published(self) -> None:
        """Return when Kafka has the rows of all gaps so far; `publish` runs meanwhile."""
        await self._found.join()

    async def publish(self, publisher: Publisher, topics: Topics) -> None:
        """Publish found gaps as records on the clusters' logs, until cancelled."""
        while True:
            gap, clusters = await self._found.get()
            for cluster in clusters:
                now = datetime.now(UTC)
                record = SourceErrorRecord(
                    ts=now, cluster=cluster, resource=gap.resource, error=gap.error, problem=gap.problem
                )
                headers = headers_of(record, f"{gap.kind} {gap.resource} {gap.first}-{gap.end}")
                key, value = key_of(cluster, ""), encode_record(record)
                await (await publisher.send(topics.cluster.name, key, value, headers))
            self._found.task_done()


class Takeovers:
    """Chooses the starting offsets of a worker's partitions from the recovered states."""

    def __init__(self) -> None:
        self.gaps = Gaps()
        self.changelogs: dict[str, Changelog] = {}
        """Changelogs by source topic."""

    def start_of(self, topic: str, partition: int, committed: int, earliest: int, end: int) -> int:
        """Return the offset to read from; the committed one until the states are recovered."""
        changelog = self.changelogs[topic]
        if partition not in changelog.owned:
            return committed
        begins_at = start(topic, partition, committed, changelog.covered(partition), earliest, end)
        for gap in begins_at.gaps:
            self.gaps.add(gap, self.clusters(TopicPartition(topic, partition)))
        return begins_at.offset

    async def replaced_partitions(
        self,
        committed: Mapping[TopicPartition, int],
        newer: Callable[[Mapping[TopicPartition, LastMessage]], Awaitable[Collection[TopicPartition]]],
    ) -> Collection[TopicPartition]:
        """Return the partitions with a newer message where the states have their last one, and report them.

        The topic was truncated or recreated while no worker ran, and has grown past that message.
        """
        lasts = {
            tp: last
            for tp in committed
            if tp.partition in self.changelogs[tp.topic].owned
            and (last := self.changelogs[tp.topic].last(tp.partition)) is not None
        }
        replaced = await newer(lasts) if lasts else ()
        for tp in replaced:
            offset = lasts[tp].offset
            self.gaps.add(Gap("replaced", *tp, offset, max(committed[tp], offset + 1)), self.clusters(tp))
        return replaced

    async def report_replaced(self, partition: TopicPartition, first: int, end: int) -> None:
        """Report messages that were folded from a partition and replaced since; return when Kafka has the row."""
        self.gaps.add(Gap("replaced", *partition, first, end), self.clusters(partition))
        with suppress(TimeoutError):
            await asyncio.wait_for(self.gaps.published(), LOOK_SECONDS)

    def clusters(self, partition: TopicPartition) -> Iterable[str]:
        """Return the clusters whose logs are known in a partition."""
        return map(cluster_of, self.changelogs[partition.topic].logs(partition.partition))


LOOK_SECONDS: Final = 15.0
POLL_MS: Final = 100


class HoleChecker:
    """Checks with its own consumer whether messages are missing in the topic, or were only skipped by the worker."""

    def __init__(self, options: aiokafka_fixes.Options, takeovers: Takeovers) -> None:
        """`options` are the clients'; deleted messages become a gap of `takeovers`."""
        self._options = options
        self._takeovers = takeovers
        self._known: dict[TopicPartition, tuple[int, int]] = {}
        """The last hole of each partition."""

    async def has(self, partition: TopicPartition, first: int, end: int) -> bool:
        """Tell whether the topic has no message from `first` up to but not including `end`; False if Kafka does not
        answer.

        Kafka deletes nothing in the middle of a topic that is not compacted, so a hole there is not a gap. Any other
        hole is added to the gaps.
        """
        if self._known.get(partition) == (first, end):
            return True
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                earliest, found = await self._look(partition, first)
                if found != end:
                    return False
                compacted = earliest <= first and await self._is_compacted(partition.topic)
        except (KafkaError, TimeoutError) as error:
            log.warning("Kafka does not show whether messages are missing", error=explain_refusal(error))
            return False
        self._known[partition] = first, end
        if earliest > first or compacted:
            gap = Gap("compacted" if compacted else "lost", *partition, first, end)
            self._takeovers.gaps.add(gap, self._takeovers.clusters(partition))
        return True

    async def is_same(self, partition: TopicPartition, offset: int, timestamp_ms: int) -> bool:
        """Tell whether the topic still has the same message at an offset. Kafka is asked until it answers."""
        backoff = Backoff(SYSTEM)
        while True:
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    return await self._has(partition, offset, timestamp_ms)
            except (KafkaError, TimeoutError) as error:
                log.warning("Kafka does not show whether a partition is the same", error=explain_refusal(error))
            await backoff.wait()

    async def newer(self, lasts: Mapping[TopicPartition, LastMessage]) -> Collection[TopicPartition]:
        """Return the partitions whose message at that offset is newer than that time.

        Partitions without such a message are left out, and so are those for which Kafka does not answer in time.
        """
        found: list[TopicPartition] = []
        try:
            async with asyncio.timeout(LOOK_SECONDS), aiokafka_fixes.started(self._client()) as consumer:
                consumer.assign(list(lasts))
                earliest, ends = (
                    await consumer.beginning_offsets(list(lasts)),
                    await consumer.end_offsets(list(lasts)),
                )
                consumer.pause(*lasts)
                for tp, last in lasts.items():
                    if not earliest[tp] <= last.offset < ends[tp]:
                        continue
                    consumer.resume(tp)
                    stored_ms = await _stored_ms(consumer, tp, last.offset)
                    consumer.pause(tp)
                    if stored_ms is not None and stored_ms > last.newest_ms:
                        found.append(tp)
        except (KafkaError, TimeoutError) as error:
            log.warning("Kafka does not show whether logs are the same", error=explain_refusal(error))
        return found

    async def _has(self, partition: TopicPartition, offset: int, timestamp_ms: int) -> bool:
        """Tell whether the offset has a message of that time, or was deleted by retention."""
        async with aiokafka_fixes.started(self._client()) as consumer:
            consumer.assign([partition])
            if offset < (await consumer.beginning_offsets([partition]))[partition]:
                return True
            if offset >= (await consumer.end_offsets([partition]))[partition]:
                return False
            return await _stored_ms(consumer, partition, offset) == timestamp_ms

    async def _look(self, partition: TopicPartition, first: int) -> tuple[int, int]:
        """Return the topic's first offset, and the offset of the first message from `first` on."""
        async with aiokafka_fixes.started(self._client()) as consumer:
            consumer.assign([partition])
            earliest = (await consumer.beginning_offsets([partition]))[partition]
            consumer.seek(partition, max(first, earliest))
            return earliest, (await consumer.getone(partition)).offset

    def _client(self) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            **self._options,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=MAX_MESSAGE_BYTES,
        )

    async def _is_compacted(self, topic: str) -> bool:
        """Tell whether a topic is compacted; True if Kafka does not show it."""
        async with aiokafka_fixes.started(AIOKafkaAdminClient(**self._options)) as admin:
            settings = (await settings_of(admin, [topic])).get(topic, {})
        return settings.get("cleanup.policy") != "delete"


async def _stored_ms(consumer: AIOKafkaConsumer, partition: TopicPartition, offset: int) -> int | None:
    """Return Kafka's time of the message at an offset; None without one: a transaction's marker may end the log."""
    consumer.seek(partition, offset)
    while await consumer.position(partition) <= offset:
        received = await consumer.getmany(partition, timeout_ms=POLL_MS, max_records=1)
        for message in received.get(partition, ()):
            return message.timestamp if message.offset == offset else None
    return None
