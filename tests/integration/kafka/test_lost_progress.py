"""A lander whose progress is lost in Kafka or in the database, apart or together; broker and engine are real."""

import asyncio
import json
import os
import shutil
import struct
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, OffsetAndMetadata, TopicPartition

from common.errors import KafkaUnusable
from components.command import dsn
from components.kafka import Kafka, KafkaCluster
from components.lag import lag
from components.rows import T0, lose_newest, row
from ingest.files.envelope import decode_line
from ingest.kafka.admin import ensure_topics
from ingest.kafka.publish import Publisher
from ingest.kafka.replay import replay_into_kafka
from ingest.model.observation import Position
from ingest.model.records import SourceErrorRecord
from ingest.model.topics import Topics, changelogs, decode_record
from ingest.model.topics import topics as topics_of
from sql.database.open import Database, connect
from sql.landing.portions import PortionStore
from streams.analytics.registry import REDUCERS
from streams.fold.findings import NodeEvent
from streams.kafka.app import Worker
from streams.kafka.changelog import Changelog
from streams.kafka.gaps import Gaps, HoleChecker, Takeovers
from streams.kafka.landing.consumer import CHECK_SECONDS, Landing
from streams.kafka.messages.findings import columns_of, decode_findings, encode_findings, finding_headers
from streams.kafka.settings import LandSettings
from waiting import until

pytestmark = [pytest.mark.asyncio, pytest.mark.components("kafka")]

PARTITIONS = 4
EACH = 40
"""Messages that are sent at once, over all partitions."""


class Lost:
    """Findings in Kafka, numbered, and what a lander makes of them: one that leaves its group when it stops."""

    def __init__(self, kafka: Kafka | KafkaCluster, folder: Path) -> None:
        self.servers = kafka.bootstrap_servers
        self.topics: Topics = topics_of(f"lost-{uuid.uuid4().hex[:8]}", partitions=PARTITIONS)
        self.group = f"{self.topics.findings.name}-land"
        self.gaps = Gaps()
        self.folder = folder
        self.sent = 0
        self.landing: Any = None

    async def make_topics(self) -> None:
        await ensure_topics(self.servers, list(self.topics))

    async def send(self) -> None:
        async with Publisher(self.servers) as publisher:
            for number in range(self.sent, self.sent + EACH):
                value = encode_findings("c", "n", T0, [row(NodeEvent, name=str(number))])
                key, headers = b"c/n%d" % number, finding_headers("c", "n", T0, str(number))
                await publisher.send(self.topics.findings.name, key, value, headers)
            await publisher.flush()
        self.sent += EACH

    @asynccontextmanager
    async def lander(self) -> AsyncIterator[Database]:
        """One that runs for the block, and what it stores into."""
        stop = asyncio.Event()
        with connect(dsn(self.folder)) as database:
            store = PortionStore(database, self.topics)
            self.landing = Landing(
                [self.topics.findings.name],
                self.servers,
                store,
                group=self.group,
                settings=LandSettings(batch_seconds=0.1),
                gaps=self.gaps,
            )
            running = asyncio.ensure_future(self.landing.run(stop))
            try:
                await until(lambda: running.done() or len(self.landing._known) == PARTITIONS)
                yield database
            finally:
                stop.set()
                await running

    async def land(self) -> None:
        """Until all is stored and committed."""
        async with self.lander() as database:
            await self.all_stored(database)

    async def all_stored(self, database: Database) -> None:
        async def is_so() -> bool:
            left = await lag(self.servers, self.group, [self.topics.findings.name])
            return (names(database), left) == ({str(number) for number in range(self.sent)}, 0)

        await until(is_so)

    async def reported(self) -> list[SourceErrorRecord]:
        """Return the published part of the missing messages."""
        async with Publisher(self.servers) as publisher:
            publishing = asyncio.ensure_future(self.gaps.publish(publisher, self.topics))
            try:
                number = len(self.gaps._reported)
                return await first_of(self.servers, self.topics.cluster.name, number)
            finally:
                publishing.cancel()


async def first_of(servers: str, topic: str, number: int) -> list[SourceErrorRecord]:
    async with AIOKafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        records = [decode_record((await consumer.getone()).value) for _ in range(number)]
    return [each for each in records if isinstance(each, SourceErrorRecord)]


def names(database: Database) -> set[str]:
    return {name for (name,) in database.query("SELECT name FROM node_events").rows}


@pytest.fixture
def folder(migrated_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(migrated_folder, tmp_path / "db", symlinks=True))


@pytest.mark.parametrize("landed_before", [True, False])
async def test_a_group_reset_to_the_end_skips_nothing(kafka: Kafka, folder: Path, *, landed_before: bool) -> None:
    """Nothing had landed of any partition, or something of each."""
    on = Lost(kafka, folder)
    await on.make_topics()
    if landed_before:
        await on.send()
    await on.land()
    await on.send()
    await reset_to_the_end(on)
    await on.land()
    assert on.gaps.counts == {(on.topics.findings.name, "unstored"): EACH}
    found = await on.reported()
    assert sum(int(each.error.split()[1]) for each in found) == EACH
    assert {each.problem for each in found} == {"gap"}


async def reset_to_the_end(on: Lost) -> None:
    partitions = [TopicPartition(on.topics.findings.name, number) for number in range(PARTITIONS)]
    async with AIOKafkaConsumer(
        bootstrap_servers=on.servers, group_id=on.group, enable_auto_commit=False
    ) as consumer:
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        await consumer.commit({tp: OffsetAndMetadata(end, "") for tp, end in ends.items()})


async def test_a_group_that_kafka_forgot_stores_nothing_twice_and_reports_nothing(kafka: Kafka, folder: Path) -> None:
    on = Lost(kafka, folder)
    await on.make_topics()
    await on.send()
    await on.land()
    on.group += "-as-if-it-were-new"
    await on.send()
    await on.land()
    assert on.gaps.counts == {}
    with connect(dsn(folder)) as database:
        assert database.query("SELECT count() FROM node_events", settings={"final": 0}).rows == [(on.sent,)]


async def test_the_first_start_of_this_version_resumes_at_the_committed_offset(kafka: Kafka, folder: Path) -> None:
    on = Lost(kafka, folder)
    await on.make_topics()
    await on.send()
    await reset_to_the_end(on)
    await on.send()
    async with on.lander() as database:
        await until(lambda: len(names(database)) == EACH)
        assert names(database) == {str(number) for number in range(EACH, 2 * EACH)}
    assert on.gaps.counts == {}


@pytest.mark.parametrize("running", [True, False], ids=["while it runs", "before it begins"])
async def test_rows_of_a_tables_newest_part_are_stored_again(kafka: Kafka, folder: Path, *, running: bool) -> None:
    """A power loss: ClickHouse sets the part aside, and still knows the tokens of its rows."""
    on = Lost(kafka, folder)
    await on.make_topics()
    async with on.lander() as database:
        for _ in range(2):
            await on.send()
            await on.all_stored(database)
        lose_newest(database, "node_events")
        assert len(names(database)) < on.sent
        if running:
            on.landing._checked_at -= CHECK_SECONDS
            await on.all_stored(database)
    await on.land()
    assert {kind for _, kind in on.gaps.counts} == {"unstored"}
    found = dict(on.gaps.counts)
    await on.send()
    await on.land()
    assert on.gaps.counts == found


async def test_rows_of_all_newest_parts_are_stored_again(kafka: Kafka, folder: Path) -> None:
    """Progress is among them, and what is left of the parts is not there to be noticed."""
    on = Lost(kafka, folder)
    await on.make_topics()
    await on.send()
    await on.land()
    before = folder.with_name("before")
    shutil.copytree(folder, before, symlinks=True)
    await on.send()
    await on.land()
    shutil.rmtree(folder)
    before.rename(folder)
    await on.land()
    assert on.gaps.counts == {(on.topics.findings.name, "unstored"): EACH}


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[Kafka]:
    broker = Kafka(tmp_path / "kafka")
    try:
        yield broker.start()
    finally:
        broker.stop()


@pytest.mark.parametrize("moved", [0, 1, None], ids=["to the same offset", "to another offset", "by another tool"])
async def test_metadata_copied_from_another_kafka_hides_no_message(
    kafka: Kafka, own_kafka: Kafka, folder: Path, monkeypatch: pytest.MonkeyPatch, moved: int | None
) -> None:
    """A tool copies a group while a portion is begun. The database stored that portion, and knows its token."""
    commits = list[Mapping[TopicPartition, OffsetAndMetadata]]()
    commit = Landing._commit

    async def noted(landing: Landing, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        commits.append(offsets)
        await commit(landing, offsets)

    monkeypatch.setattr(Landing, "_commit", noted)
    source = Lost(own_kafka, folder)
    await source.make_topics()
    await source.send()
    await source.land()
    intents = {tp: each for offsets in commits for tp, each in offsets.items() if each.metadata}
    assert len(intents) == PARTITIONS
    on = Lost(kafka, folder)
    on.topics, on.group, on.sent = source.topics, source.group, source.sent
    await on.make_topics()
    await on.send()
    copied = {
        tp: OffsetAndMetadata(each.offset + (moved or 0), "copied" if moved is None else each.metadata)
        for tp, each in intents.items()
    }
    async with AIOKafkaConsumer(
        bootstrap_servers=on.servers, group_id=on.group, enable_auto_commit=False
    ) as consumer:
        consumer.assign(list(copied))
        await consumer.commit(copied)
    async with on.lander() as database:
        skipped = (moved or 0) * PARTITIONS
        await until(lambda: len(names(database)) >= on.sent - skipped)
    assert on.gaps.counts == {}


@pytest.mark.parametrize("running", [True, False], ids=["while it runs", "before it begins"])
async def test_messages_after_a_truncation_are_stored(own_kafka: Kafka, folder: Path, *, running: bool) -> None:
    """A machine loses power, or an unclean election happens: the offsets in Kafka survive, and the messages come
    again.
    """
    on = Lost(own_kafka, folder)
    await on.make_topics()
    await on.send()
    await on.send()
    if not running:
        await on.land()
    async with on.lander() if running else nothing() as database:
        if running:
            await on.all_stored(database)
        await asyncio.to_thread(own_kafka.stop)
        cut = cut_back(own_kafka, on.topics.findings.name)
        await asyncio.to_thread(own_kafka.start)
        for _ in range(2):  # now the log ends behind what was received of the old one
            await on.send()
        if running:
            await on.all_stored(database)
    if not running:
        await on.land()
    assert cut
    assert {kind for _, kind in on.gaps.counts} == {"replaced"}
    found = await on.reported()
    assert {each.resource for each in found} == {f"kafka {on.topics.findings.name}/{number}" for number in cut}


@pytest.mark.parametrize("end", [44, 60], ids=["less far than the commit", "as far as the commit"])
async def test_a_worker_folds_the_messages_after_a_truncation(own_kafka: Kafka, end: int) -> None:
    """It finds its own offset behind the end, or a newer message there; each log knows by the time what it has."""
    servers, topics = own_kafka.bootstrap_servers, topics_of("cut", partitions=2)
    await ensure_topics(servers, [*topics, *changelogs("cut", topics)])

    async def fold(until_number: int) -> Counter[tuple[str, ...]]:
        worker, stop = (
            Worker(REDUCERS, topics, servers, group="cut", instance="0", state_seconds=0.1),
            asyncio.Event(),
        )
        running = asyncio.ensure_future(worker.run(stop))

        async def all_folded() -> bool:
            with suppress(KafkaUnusable):  # a Kafka that is new has no coordinator yet
                left = await lag(servers, "cut", [topics.nodes.name])
                return running.done() or (left == 0 and await found_in(servers, topics) >= set(range(until_number)))
            return False

        await until(all_folded)
        stop.set()
        await running
        return worker._takeovers.gaps.counts

    await observe(servers, topics, range(20))
    await observe(servers, topics, range(20, 40))
    await fold(40)
    await asyncio.to_thread(own_kafka.stop)
    cut = cut_back(own_kafka, topics.nodes.name)
    await asyncio.to_thread(own_kafka.start)
    await observe(servers, topics, range(40, end))
    assert cut
    assert {kind for _, kind in await fold(end)} == {"replaced"}
    assert await fold(end) == {}


async def test_a_truncated_changelog_gets_all_states_again(own_kafka: Kafka) -> None:
    """The second node's state is among what is gone, and nothing of its log is folded afterwards."""
    servers, topics = own_kafka.bootstrap_servers, topics_of("states", partitions=1)
    changelog, _ = made = changelogs("states", topics)
    await ensure_topics(servers, [*topics, *made])
    worker, stop = Worker(REDUCERS, topics, servers, group="states", instance="0", state_seconds=0.1), asyncio.Event()
    running = asyncio.ensure_future(worker.run(stop))

    async def fold(numbers: Sequence[int]) -> None:
        async def is_folded() -> bool:
            left = await lag(servers, "states", [topics.nodes.name])
            return running.done() or (left == 0 and await found_in(servers, topics) >= set(numbers))

        await observe(servers, topics, numbers)
        await until(is_folded)

    try:
        for number in range(6):
            await fold([number])
        await asyncio.to_thread(own_kafka.stop)
        assert cut_back(own_kafka, changelog.name, batches=6)
        await asyncio.to_thread(own_kafka.start)
        await fold([6])
    finally:
        stop.set()
        await running
    wanted, stored = worker._takeovers.changelogs[topics.nodes.name], await states_in(servers, changelog.name)
    assert {log: stored.get(log) for log in (b"c/n0", b"c/n1")} == {log: wanted.get(log) for log in wanted.logs(0)}


async def states_in(servers: str, topic: str) -> Changelog:
    """Read a changelog of one partition as the next worker does."""
    partition, found = TopicPartition(topic, 0), Changelog()
    async with AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([partition])
        end = (await consumer.end_offsets([partition]))[partition]
        while await consumer.position(partition) < end:
            message = await consumer.getone(partition)
            found.apply(0, message.key, message.value, message.headers)
    found.own({0})
    return found


async def test_a_message_is_known_by_its_time_and_only_where_the_log_has_it(kafka: Kafka) -> None:
    servers, topics = kafka.bootstrap_servers, topics_of(f"same-{uuid.uuid4().hex[:8]}", partitions=1)
    await ensure_topics(servers, list(topics))
    await observe(servers, topics, range(4))
    partition = TopicPartition(topics.nodes.name, 0)
    async with AIOKafkaConsumer(partition.topic, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        messages = [await consumer.getone(partition) for _ in range(4)]
    holes = HoleChecker({"bootstrap_servers": servers}, Takeovers())
    last = messages[-1]
    assert all([await holes.is_same(partition, each.offset, each.timestamp) for each in messages])
    assert not await holes.is_same(partition, last.offset, last.timestamp + 1)
    assert not await holes.is_same(partition, last.offset + 1, last.timestamp), "the log ends before it"


async def observe(servers: str, topics: Topics, numbers: Iterable[int]) -> None:
    """Events of two nodes."""

    def line(number: int) -> bytes:
        at = f"2026-07-01T12:{number:02d}:00Z"
        about = {"kind": "Node", "name": f"n{number % 2}", "uid": f"n{number % 2}"}
        metadata = {"name": str(number), "namespace": "default", "uid": f"u{number}", "creationTimestamp": at}
        event = {"metadata": metadata, "involvedObject": about, "reason": "Rebooted", "type": "Warning", "count": 1}
        event |= {"message": "x", "source": {"component": "kubelet"}, "firstTimestamp": at, "lastTimestamp": at}
        seen = {"ts": at, "cluster": "c", "source": "watch", "resource": "events", "type": "ADDED", "object": event}
        return json.dumps(seen).encode()

    async with Publisher(servers) as publisher:
        seen = [decode_line(line(number), Position("events", str(number))) for number in numbers]
        await replay_into_kafka(seen, publisher, topics)


async def found_in(servers: str, topics: Topics) -> set[int]:
    """Return the numbers of the Events."""
    partitions = [TopicPartition(topics.findings.name, number) for number in range(topics.findings.partitions)]
    async with AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign(partitions)
        ends, found = await consumer.end_offsets(partitions), set[int]()
        for tp, end in ends.items():
            while await consumer.position(tp) < end:
                rows = columns_of(decode_findings((await consumer.getone(tp)).value)).get("node_events", {})
                found |= {int(str(name)) for name in rows.get("name", ())}
    return found


@asynccontextmanager
async def nothing() -> AsyncIterator[Any]:
    yield None


def cut_back(kafka: Kafka, topic: str, *, batches: int = 1) -> list[int]:
    """Take the last batches of each partition away; the broker is stopped. Returns the partitions."""
    cut = []
    for folder in sorted(kafka.data.glob(f"{topic}-*")):
        (segment,) = folder.glob("*.log")
        content, starts = segment.read_bytes(), [0]
        while starts[-1] + 12 <= len(content):
            (length,) = struct.unpack(">i", content[starts[-1] + 8 : starts[-1] + 12])
            starts.append(starts[-1] + 12 + length)
        found = list(pairwise(starts))
        if len(found) > batches:
            os.truncate(segment, found[-batches][0])
            cut.append(int(folder.name.rpartition("-")[2]))
        for derived in ("*.index", "*.timeindex", "*.snapshot"):
            for file in folder.glob(derived):
                file.unlink()
    for clean in kafka.data.glob(".kafka_cleanshutdown"):
        clean.unlink()
    return cut
