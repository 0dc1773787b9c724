"""Unread messages near the end of their retention, on a real Kafka: their own times make them old at once."""

import asyncio
import time
import uuid
from collections.abc import Mapping, Sequence

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, OffsetAndMetadata, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from structlog.testing import capture_logs

from common.tasks import Tasks
from components.kafka import Kafka
from ingest.kafka.aiokafka_fixes import started
from ingest.kafka.publish import Publisher
from ingest.model.records import SourceErrorRecord
from ingest.model.topics import Topic, changelogs, decode_record
from ingest.model.topics import topics as topics_of
from streams.kafka.app import Worker
from streams.kafka.gaps import Gaps
from streams.kafka.landing.consumer import Landing
from streams.kafka.landing.resume import Landed
from streams.kafka.landing.store import TransientFailure
from streams.kafka.metrics import RETENTION_NEAR
from streams.kafka.retention import RetentionWatch

pytestmark = pytest.mark.components("kafka")

HOURS = 168


async def make_topics(servers: str, topics: Sequence[Topic]) -> None:
    """Messages with the times that producers give."""
    async with started(AIOKafkaAdminClient(bootstrap_servers=servers)) as admin:
        settings = [{**topic.config(), "message.timestamp.type": "CreateTime"} for topic in topics]
        made = zip(topics, settings, strict=True)
        await admin.create_topics([NewTopic(each.name, each.partitions, 1, topic_configs=its) for each, its in made])


async def produce(servers: str, partition: TopicPartition, ages_hours: Sequence[float]) -> None:
    async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
        for hours in ages_hours:
            at_ms = int((time.time() - hours * 3600) * 1000)
            await producer.send_and_wait(partition.topic, b"v", partition=partition.partition, timestamp_ms=at_ms)


async def commit(servers: str, group: str, partition: TopicPartition, offset: int) -> None:
    async with AIOKafkaConsumer(bootstrap_servers=servers, group_id=group, enable_auto_commit=False) as consumer:
        consumer.assign([partition])
        await consumer.commit({partition: OffsetAndMetadata(offset, "")})


@pytest.mark.asyncio
async def test_messages_about_to_be_deleted_unread_are_reported_in_advance(kafka: Kafka) -> None:
    topics = topics_of(f"near-{uuid.uuid4().hex[:8]}", partitions=4, retention_hours=HOURS)
    servers = kafka.bootstrap_servers
    await make_topics(servers, [topics.nodes, topics.cluster])
    old, read, young, idle = (TopicPartition(topics.nodes.name, number) for number in range(4))
    for partition in (old, read):
        await produce(servers, partition, [150, 130, 1])  # 126 h are three quarters
    await produce(servers, young, [120, 1])
    group = uuid.uuid4().hex
    await commit(servers, group, old, 1)
    await commit(servers, group, read, 2)
    gaps = Gaps()
    watch = RetentionWatch(
        group, {"bootstrap_servers": servers}, lambda: [old, read, young, idle], gaps, lambda _: ["lab"]
    )
    with capture_logs() as logs:
        await watch.once()
        await watch.once()
    assert [each["resource"] for each in logs if each["log_level"] == "error"] == [f"kafka {old.topic}/0"]
    assert watch.figure() == {(old.topic,): 1}
    (why,) = watch.why_not()
    assert "2 unread messages from offset 1 on" in why
    async with Publisher(servers) as publisher:
        publishing = asyncio.ensure_future(gaps.publish(publisher, topics))
        (record,) = await first_of(servers, topics.cluster.name, 1)
        publishing.cancel()
    assert (record.cluster, record.resource) == ("lab", f"kafka {old.topic}/0")
    assert record.error.startswith("behind: 2 unread messages")
    await commit(servers, group, old, 2)
    await watch.once()
    assert list(watch.why_not()) == []
    assert watch.figure() == {(old.topic,): 0}


async def first_of(servers: str, topic: str, number: int) -> Sequence[SourceErrorRecord]:
    async with AIOKafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        records = [decode_record((await consumer.getone()).value) for _ in range(number)]
    return [each for each in records if isinstance(each, SourceErrorRecord)]


@pytest.mark.asyncio
async def test_a_running_worker_and_lander_report_unread_messages(kafka: Kafka) -> None:
    """The worker folds and has not written a state; the lander has a store that takes nothing."""
    topics = topics_of(f"runs-{uuid.uuid4().hex[:8]}", partitions=1, retention_hours=HOURS)
    servers, group = kafka.bootstrap_servers, uuid.uuid4().hex
    await make_topics(servers, [*topics, *changelogs(group, topics)])
    await produce(servers, TopicPartition(topics.nodes.name, 0), [150, 130, 1])
    await produce(servers, TopicPartition(topics.findings.name, 0), [150, 1])

    class Away:
        def __call__(self, *_: object) -> None:
            raise TransientFailure("away")

        def landed(self, _: str) -> dict[TopicPartition, Landed]:
            return {}

        def resume_from(self, _: Mapping[TopicPartition, Landed]) -> None: ...

    gaps, stop = Gaps(), asyncio.Event()
    worker = Worker([], topics, servers, group=group, instance="0", state_seconds=3600)
    landing = Landing([topics.findings.name], servers, Away(), group=f"{group}-land", gaps=gaps)
    async with Publisher(servers) as publisher, Tasks() as spawn:
        spawn(gaps.publish(publisher, topics))
        running = [spawn(worker.run(stop)), spawn(landing.run(stop))]
        records = await first_of(servers, topics.cluster.name, 2)
        reasons = [*worker._why_not(), *landing._why_not()]
        figures = worker._figures()[RETENTION_NEAR](), landing._figures()[RETENTION_NEAR]()
        stop.set()
        await asyncio.wait(running)
    resources = [f"kafka {topic.name}/0" for topic in (topics.nodes, topics.findings)]
    assert {(each.resource, each.error[:25]) for each in records} == {
        (resources[0], "behind: 3 unread messages"),
        (resources[1], "behind: 2 unread messages"),
    }
    for resource in resources:
        assert any(reason.startswith(f"{resource}: behind: ") for reason in reasons)
    assert figures == ({(topics.nodes.name,): 1, (topics.cluster.name,): 0}, {(topics.findings.name,): 1})
