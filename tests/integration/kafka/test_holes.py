"""Offsets without a message in a real topic: markers of transactions, deleted messages, and what is not missing."""

import asyncio
import uuid

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

from components.kafka import Kafka
from ingest.kafka.admin import ensure_topics
from ingest.model.topics import topics as topics_of
from streams.kafka.changelog import Changelog, LastMessage
from streams.kafka.gaps import HoleChecker, Takeovers
from waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.components("kafka")


@pytest.mark.asyncio
async def test_a_transaction_marker_at_the_end_of_a_log_delays_no_reader(kafka: Kafka) -> None:
    """A committed message, its marker, an aborted one and its marker, which may be where a replaced log had more."""
    topic = topics_of(f"markers-{uuid.uuid4().hex[:8]}", partitions=1).nodes
    servers, partition = kafka.bootstrap_servers, TopicPartition(topic.name, 0)
    await ensure_topics(servers, [topic])
    async with AIOKafkaProducer(bootstrap_servers=servers, transactional_id=uuid.uuid4().hex) as producer:
        async with producer.transaction():
            stored = await producer.send_and_wait(topic.name, b"v", b"k")
        await producer.begin_transaction()
        await producer.send_and_wait(topic.name, b"v", b"k")
        await producer.abort_transaction()
    holes = HoleChecker({"bootstrap_servers": servers}, Takeovers())
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await holes.is_same(partition, 0, stored.timestamp)
        for marker in (1, 3):
            assert not await holes.is_same(partition, marker, stored.timestamp)
            assert await holes.newer({partition: LastMessage(0, marker)}) == []
        assert await holes.newer({partition: LastMessage(0, 2)}) == [partition]
        assert await holes.has(partition, 1, 2)


@pytest.mark.parametrize(("compacted", "gaps"), [(False, {}), (True, {"compacted": 1})])
@pytest.mark.asyncio
async def test_a_hole_is_offsets_without_a_message(kafka: Kafka, compacted: bool, gaps: dict[str, int]) -> None:
    """A transaction's marker takes an offset. In a compacted topic nothing shows that it was not a message."""
    topics = topics_of(f"holes-{uuid.uuid4().hex[:8]}", partitions=1)
    topic = topics.nodes._replace(compacted=compacted)
    servers, partition = kafka.bootstrap_servers, TopicPartition(topic.name, 0)
    await ensure_topics(servers, [topic])
    async with AIOKafkaProducer(bootstrap_servers=servers, transactional_id=uuid.uuid4().hex) as producer:
        for number in range(3):  # messages at 0, 2 and 4
            async with producer.transaction():
                await producer.send(topic.name, b"v", b"%d" % number)
    takeovers = Takeovers()
    takeovers.changelogs[topic.name] = Changelog()
    holes = HoleChecker({"bootstrap_servers": servers}, takeovers)
    assert await holes.has(partition, 1, 2)
    assert not await holes.has(partition, 1, 4)
    assert takeovers.gaps.counts == {(topic.name, kind): number for kind, number in gaps.items()}
    if not compacted:
        admin = AIOKafkaAdminClient(bootstrap_servers=servers)
        await admin.start()
        await admin.delete_records({partition: RecordsToDelete(before_offset=4)})
        await admin.close()
        assert await holes.has(partition, 2, 4)
        assert takeovers.gaps.counts == {(topic.name, "lost"): 2}
