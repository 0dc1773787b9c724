"""Workarounds for faults of Faust and mode. No other module uses their internals.

Both are pinned to one version. A test compares the functions that this module overrides or relies on with their
source at that version. If a fault has no issue yet, the link is to the file with the function.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final, NamedTuple, TypeAlias, cast

import faust
import structlog
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.cluster import ClusterMetadata
from faust.assignor.partition_assignor import MemberAssignmentMapping, MemberMetadataMapping, PartitionAssignor
from faust.stores import memory
from faust.transport.consumer import RecordMap
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from faust.types.events import EventT
from faust.types.tables import CollectionT
from faust.types.transports import TransportT
from mode.services import WaitArgT, WaitResults
from mode.utils.times import Seconds

from ingest.kafka import aiokafka_fixes
from ingest.kafka.reaching import explain_refusal
from ingest.model.topics import Topic
from streams.kafka.changelog import Changelog, Headers
from streams.kafka.membership import Membership
from streams.kafka.message import MessagesLost

log = structlog.get_logger(__name__)
COMPARE_SECONDS: Final = 15.0
"""Timeout for comparing one other partition, once one was found replaced."""
NEVER_COMMIT: Final = 2**63 - 1
"""Stops Faust from committing, as a partition's last committed offset: Faust commits only later ones."""


DELIVERY_AND_SUSPENSION: Final = 2
Work: TypeAlias = Coroutine[None, None, object]


class WorkerCrashed(Exception):
    """Faust gave up; the reason is in its own log."""


class App(faust.App):
    """Faust's application without folders, because its stores are in memory.

    https://github.com/faust-streaming/faust/blob/v0.15.3/faust/app/base.py
    """

    side_tasks: AbstractAsyncContextManager[object] | None = None
    """Tasks that run together with the application if Faust's own command starts it."""

    def _create_directories(self) -> None:
        """Create none, because stores in memory need no folders."""

    async def on_start(self) -> None:
        """Start after the side tasks."""
        if self.side_tasks is not None:
            await self.side_tasks.__aenter__()
        await super().on_start()

    async def on_shutdown(self) -> None:
        """End before the side tasks."""
        await super().on_shutdown()
        if self.side_tasks is not None:
            await self.side_tasks.__aexit__(None, None, None)


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """Runs Faust's consumer; observes its membership, and stops it cleanly.

    https://github.com/faust-streaming/faust/blob/v0.15.3/faust/transport/drivers/aiokafka.py
    """

    async def on_start(self) -> None:
        """Observe the membership of the consumer that the thread creates."""
        await super().on_start()
        membership = cast("Transport", self.transport).membership
        aiokafka_fixes.observe(self._ensure_consumer(), membership.confirm, membership.end)

    async def on_thread_stop(self) -> None:
        """Stop its consumer. If it waits for a fetch, its CancelledError would otherwise end the thread."""
        await super(driver.AIOKafkaConsumerThread, self).on_thread_stop()
        if self._consumer is not None:
            await aiokafka_fixes.stop(self._consumer)


class Consumer(driver.Consumer):
    """Faust's consumer, which loses no message while a worker recovers its states, and delivers at less cost."""

    def __init__(self, transport: TransportT, **more: object) -> None:
        super().__init__(transport, **more)
        self._to_resume: set[TP] = set()
        self._connections: dict[TP, object] = {}
        self._received: dict[TP, tuple[int, int]] = {}
        """Offset and Kafka's time of the last message of each partition."""

    def _new_consumer_thread(self) -> ConsumerThread:
        """Create this module's ConsumerThread."""
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def pause_partitions(self, tps: Iterable[TP]) -> None:
        """Pause partitions, see `resume_flow`. Draining a full queue does not resume a partition paused since.

        Faust resumes it, fetches from it while states are read, and then empties the queues. So the messages fetched
        meanwhile would be lost, and later ones folded.

        https://github.com/faust-streaming/faust/blob/v0.15.3/faust/transport/consumer.py
        """
        self._to_resume.difference_update(tps)
        self._buffered_partitions.difference_update(tps)
        super().pause_partitions(tps)

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """Resume partitions, see `resume_flow`."""
        self._to_resume.update(tps)

    def resume_flow(self) -> None:
        """Resume the partitions last, together with the flow.

        Faust resumes the streams' partitions, seeks them to the committed offsets and then empties the streams'
        queues. So messages fetched in between would be lost. Upstream fixed this only for apps without tables;
        Leadsman has tables.

        https://github.com/faust-streaming/faust/issues/216
        """
        super().resume_flow()
        super().resume_partitions(self._to_resume & self.assignment())
        self._to_resume.clear()

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Seek to the committed offset, or to the beginning without one. Drop messages fetched while suspended.

        https://github.com/faust-streaming/faust/issues/221
        """
        self._received.clear()
        committed = dict(await super().seek_to_committed())
        committed |= await self._start_offsets(committed)
        new = [tp for tp, offset in committed.items() if not offset and not self._is_changelog_tp(tp)]
        if new:
            # TPs that were passed in; only their type differs
            await self._thread.seek_to_beginning(*cast("list[TopicPartition]", new))
        return committed

    async def _start_offsets(self, committed: Mapping[TP, int]) -> Mapping[TP, int]:
        """Return the offsets to read from instead of the committed ones.

        Faust trusts the commits, and aiokafka skips deleted messages without an error. Faust also seeks during a
        rebalance, when the states are not recovered yet: the committed offsets then stay.
        """
        sources = {TP(*tp): offset or 0 for tp, offset in committed.items() if not self._is_changelog_tp(tp)}
        if not sources:
            return {}
        earliest, ends = await self.earliest_offsets(*sources), await self.highwaters(*sources)
        transport = cast("Transport", self.transport)
        starts = {
            tp: transport.start_of(tp.topic, tp.partition, offset, earliest.get(tp) or 0, ends.get(tp, offset))
            for tp, offset in sources.items()
        }
        moved = {tp: offset for tp, offset in starts.items() if sources[tp] and offset != sources[tp]}
        if moved:
            await self.seek_wait(moved)
        read = {TopicPartition(*tp): offset for tp, offset in sources.items() if offset}
        replaced_tps = [TP(*tp) for tp in await transport.replaced_partitions(read)] if read else []
        for tp in replaced_tps:
            await self._reset_commit(tp)
        return moved | dict.fromkeys(replaced_tps, 0)

    async def verify_all_partitions_active(self) -> None:
        """Ignore idle partitions: `streams.kafka.retention` reports unread messages.

        After a broker's restart, Faust can ask for the position of a partition that aiokafka is just seeking. That
        fails, and would end the worker.

        https://github.com/faust-streaming/faust/blob/v0.15.3/faust/transport/drivers/aiokafka.py
        """

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        """Raise MessagesLost, which ends the worker, unless the topic has no messages there.

        Faust treats skipped offsets as acked and commits past them.

        https://github.com/faust-streaming/faust/blob/v0.15.3/faust/transport/consumer.py
        """
        transport = cast("Transport", self.transport)
        if not await transport.is_hole(TopicPartition(tp.topic, tp.partition), offset_from, offset_to):
            raise MessagesLost(f"{tp.topic}:{tp.partition}@{offset_to} arrived, but {offset_from} was next")
        # Faust would include the message at offset_to, which just arrived and is not folded yet
        await super()._add_gap(tp, offset_from, offset_to - 1)

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> RecordMap:  # noqa: ASYNC109  # Faust's
        """Fetch from a copy of Faust's set of partitions. The set itself can become empty meanwhile, and aiokafka
        treats an empty set as all partitions.

        https://github.com/faust-streaming/faust/pull/239
        """
        found = await super()._getmany(active_partitions and set(active_partitions), timeout)
        for tp, messages in found.items():
            if messages and not self._is_changelog_tp(tp):
                await self._compare(tp, messages)
        return found

    async def _compare(self, tp: TP, messages: Sequence[ConsumerRecord[bytes, bytes]]) -> None:
        """Raise MessagesLost, which ends the worker, if a new leader has other messages than the previous one.

        aiokafka continues at the old offset (KIP-320), so earlier messages of the new leader would be skipped. First
        reset the commit; the next worker rereads everything, and states skip by timestamp what they have folded.
        """
        transport, partition = cast("Transport", self.transport), TopicPartition(tp.topic, tp.partition)
        connection = aiokafka_fixes.leader_connection(self._thread._ensure_consumer(), partition)
        is_another = connection is None or self._connections.setdefault(tp, connection) is not connection
        before, last = self._received.get(tp), (messages[-1].offset, messages[-1].timestamp)
        if before is not None and (is_another or messages[0].offset <= before[0]):
            # the last message may have come over the earlier connection and waited here
            for offset, timestamp_ms in (before, last):
                if not await transport.is_same(partition, offset, timestamp_ms):
                    await self._reset_replaced(tp, min(offset, messages[0].offset), offset + 1)
                    raise MessagesLost(f"{tp.topic}:{tp.partition}@{offset} was replaced by another message")
        if connection is not None:
            self._connections[tp] = connection
        self._received[tp] = last

    async def _reset_replaced(self, replaced: TP, first: int, end: int) -> None:
        """Reset the commits of partitions that are, or may be, replaced: the next worker lacks the last messages of
        this one, and cannot compare them with the topic.
        """
        transport = cast("Transport", self.transport)
        await self._reset_commit(replaced)  # first: the worker can be killed while Kafka is asked below
        await transport.report_replaced(TopicPartition(*replaced), first, end)
        for tp in [TP(*each) for each in self.assignment() if not self._is_changelog_tp(each)]:
            offset, timestamp_ms = self._received.get(tp, (-1, 0))
            partition = TopicPartition(*tp)
            if tp == replaced or (offset >= 0 and await self._is_same(partition, offset, timestamp_ms)):
                continue
            await self._reset_commit(tp)
            if offset >= 0:
                await transport.report_replaced(partition, offset, offset + 1)

    async def _reset_commit(self, tp: TP) -> None:
        self._committed_offset[tp] = NEVER_COMMIT
        if not await self._commit({tp: 0}):
            log.warning(
                "the commit of a replaced partition could not be reset", topic=tp.topic, partition=tp.partition
            )

    async def _is_same(self, partition: TopicPartition, offset: int, timestamp_ms: int) -> bool:
        """Return False if Kafka does not answer: the next leader of the partition may have other messages."""
        with suppress(TimeoutError):
            async with asyncio.timeout(COMPARE_SECONDS):
                return await cast("Transport", self.transport).is_same(partition, offset, timestamp_ms)
        return False

    async def wait_first(  # type: ignore[explicit-any]  # in mode's own alias
        self, *coros: WaitArgT, **more: Seconds
    ) -> WaitResults:
        """Deliver a message without the four tasks that Faust creates for it, a third of the cost of a message.

        Only to deliver a message, Faust waits for two coroutines: the delivery and the suspension of the flow. The
        delivery is enough: a suspended flow skips deliveries, and a full queue empties when the running batch ends.

        https://github.com/robinhood/faust/issues/563
        """
        if len(coros) != DELIVERY_AND_SUSPENSION:
            return await super().wait_first(*coros, **more)
        delivery, suspension = cast("tuple[Work, Work]", coros)
        suspension.close()
        await delivery
        return WaitResults([], [], stopped=False)


class Transport(driver.Transport):
    """Faust's transport with this module's consumer.

    `start_of` returns the offset to read from, of a topic, a partition, its committed offset, its first offset, and
    `end`, one after its last.
    """

    Consumer = Consumer
    start_of: Callable[[str, int, int, int, int], int]
    is_hole: Callable[[TopicPartition, int, int], Awaitable[bool]]
    is_same: Callable[[TopicPartition, int, int], Awaitable[bool]]
    replaced_partitions: Callable[[Mapping[TopicPartition, int]], Awaitable[Collection[TopicPartition]]]
    report_replaced: Callable[[TopicPartition, int, int], Awaitable[None]]
    membership: Membership


class _Metadata(NamedTuple):
    """Stands in for ClusterMetadata in `_perform_assignment`."""

    cluster: ClusterMetadata
    changelogs: Mapping[str, int]
    """Number of partitions by changelog."""

    def partitions_for_topic(self, topic: str) -> set[int]:
        return self.cluster.partitions_for_topic(topic) or set(range(self.changelogs.get(topic, 0)))


class Assignor(PartitionAssignor):
    """Faust's assignor, which also assigns a changelog that is too new for this worker's metadata.

    Kafka gives a worker that rejoins with its group.instance.id its former assignment. A changelog that is not in it
    is not read: the worker would begin with empty states.

    https://github.com/faust-streaming/faust/blob/v0.15.3/faust/assignor/partition_assignor.py
    """

    def _perform_assignment(
        self, cluster: ClusterMetadata, member_metadata: MemberMetadataMapping
    ) -> MemberAssignmentMapping:
        tables = self._table_manager.data.values()
        changelogs = {changelog_of(table): table.partitions or 0 for table in tables}
        known = cast("ClusterMetadata", _Metadata(cluster, changelogs))  # Faust asks it for nothing else
        return super()._perform_assignment(known, member_metadata)


async def raise_on_crash(app: faust.App) -> None:
    """Wait until Faust gives up, then raise WorkerCrashed. Its services restart or end without a word to a caller.

    https://github.com/faust-streaming/mode/blob/v0.7.1/mode/services.py
    """
    await app._crashed.wait()
    reason = app.crash_reason
    raise WorkerCrashed(f"Faust stopped: {explain_refusal(reason) if reason else 'no reason given'}") from reason


def changelog_of(table: CollectionT) -> str:
    """Return the topic from which a table's values are recovered."""
    return table.changelog_topic.get_topic_name()


class Store(memory.Store[bytes, bytes]):
    """Applies a table's records to a `Changelog`, where the furthest state of a log wins instead of the last one.

    `streams.kafka.states` writes them and awaits Kafka's acknowledgement, which `table[key] = value` does not show.
    Faust logs a failed write and commits all the same, and its producer can hang.

    https://github.com/faust-streaming/faust/blob/v0.15.3/faust/stores/memory.py
    """

    def __init__(self, changelog: Changelog, table: CollectionT) -> None:
        super().__init__("memory://", table.app, table)
        self._changelog = changelog

    def apply_changelog_batch(
        self, batch: Iterable[EventT[bytes]], to_key: Callable[[object], object], to_value: Callable[[object], object]
    ) -> None:
        """Apply a batch of records, with keys and values as in Kafka."""
        del to_key, to_value
        for event in batch:
            message = event.message
            headers = cast("Headers", message.headers or ())
            self._changelog.apply(message.partition, message.key or b"", message.value, headers)

    async def on_recovery_completed(self, active_tps: set[TP], standby_tps: set[TP]) -> None:
        """Take ownership of the recovered partitions, and forget those that this worker lost."""
        del standby_tps
        self._changelog.own({tp.partition for tp in active_tps})


def table(app: faust.App, name: str, source: Topic, changelog: Changelog) -> CollectionT:
    """Return a table with a state for each log of a topic, whose records are recovered into `changelog`."""
    what = f"State of every reducer and alert, for each log in {source.name}"
    found = app.Table(name, key_type=bytes, value_type=bytes, partitions=source.partitions, help=what)
    cast("faust.Table[bytes, bytes]", found)._data = Store(changelog, found)
    return found
