"""The publisher against a real Kafka: what a broken producer leaves behind."""

import asyncio
import uuid
import warnings
from datetime import timedelta

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from common.clock import SYSTEM, Backoff
from components.kafka import Kafka
from fakes.clock import FakeClock
from ingest.kafka import publish
from ingest.kafka.admin import ensure_topics
from ingest.kafka.aiokafka_fixes import started
from ingest.kafka.publish import SENT, Publisher, PublisherNumber
from ingest.model.topics import Topic
from waiting import until

pytestmark = [pytest.mark.asyncio, pytest.mark.components("kafka")]


async def test_a_broken_producers_unsent_messages_arrive_once_and_in_order(kafka: Kafka) -> None:
    """It must not send what stands behind the message that failed: that would come before it."""
    topic = Topic(f"broken-{uuid.uuid4().hex[:8]}", 1, 1, "")
    await ensure_topics(kafka.bootstrap_servers, [topic], replication_factor=1)
    numbers = range(1, 201)
    async with Publisher(kafka.bootstrap_servers, {"linger_ms": 1000}) as publisher:
        await (await publisher.send(topic.name, b"other", b"0"))
        producer = publisher._producer
        assert producer is not None
        for number in numbers:
            await publisher.send(topic.name, b"k", str(number).encode())
        publisher._break(producer, KafkaError("as if the first had failed"))
        await publisher.flush()
    async with AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        tp = TopicPartition(topic.name, 0)
        consumer.assign([tp])
        end = (await consumer.end_offsets([tp]))[tp]
        arrived = [await consumer.getone() for _ in range(end)]
    assert [int(each.value) for each in arrived] == [0, *numbers]
    sent = [PublisherNumber.parse(dict(each.headers)[SENT]) for each in arrived if each.key == b"k"]
    assert [each.number for each in sent] == list(numbers)
    assert len({each.publisher for each in sent}) == 1


async def test_messages_queued_in_a_producer_wait_for_permission_to_send(kafka: Kafka) -> None:
    """It is also what a producer sends that replaces another."""
    topic = Topic(f"waits-{uuid.uuid4().hex[:8]}", 1, 1, "")
    await ensure_topics(kafka.bootstrap_servers, [topic], replication_factor=1)
    asked, allowed = asyncio.Event(), asyncio.Event()

    async def when_allowed() -> None:
        asked.set()
        await allowed.wait()

    async with (
        Publisher(kafka.bootstrap_servers) as other,
        Publisher(kafka.bootstrap_servers, allowed=when_allowed) as publisher,
    ):
        first = await publisher.send(topic.name, b"k", b"2")
        await asked.wait()
        asked.clear()
        producer = publisher._producer
        assert producer is not None
        publisher._break(producer, KafkaError("as if it hung"))
        await asked.wait()
        await (await other.send(topic.name, b"k", b"1"))
        assert not first.done()
        allowed.set()
        await first
    async with AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic.name, 0)])
        assert [(await consumer.getone()).value for _ in range(2)] == [b"1", b"2"]


async def test_a_refused_message_is_retried_with_backoff_until_it_is_accepted(kafka: Kafka) -> None:
    """Kafka refuses messages whose time is too far from its own; another topic takes them all the while."""
    name, other = f"refused-{uuid.uuid4().hex[:8]}", Topic(f"taken-{uuid.uuid4().hex[:8]}", 1, 1, "")
    await ensure_topics(kafka.bootstrap_servers, [other])
    refuses = {"message.timestamp.type": "CreateTime", "message.timestamp.before.max.ms": "0"}
    takes = {"message.timestamp.type": "LogAppendTime"}
    clock = FakeClock()
    async with (
        started(AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin,
        Publisher(kafka.bootstrap_servers, {"linger_ms": 50}) as publisher,
    ):
        await admin.create_topics([NewTopic(name, 1, 1, topic_configs=refuses)])
        publisher._backoff = Backoff(clock.clock, initial_seconds=0.2, limit_seconds=1.0, jitter=0.0)
        refused = await publisher.send(name, b"k", b"0")
        taken = await publisher.send(other.name, b"k", b"0")
        await until(lambda: len(clock.slept) >= 4)
        await taken
        assert clock.slept[:4] == [0.2, 0.4, 0.8, 1.0]
        assert list(publisher._why_not()) == [
            "Kafka accepts no messages: The timestamp of the message is out of acceptable range."
        ]
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, takes)])
        await refused
        assert list(publisher._why_not()) == []
        assert publisher._backoff.next_seconds() == 0.2


@pytest.mark.parametrize("ahead", [timedelta(hours=2), timedelta(hours=-2)])
async def test_clock_skew_against_the_broker_is_measured_and_logged_once(
    kafka: Kafka, ahead: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = Topic(f"skew-{uuid.uuid4().hex[:8]}", 1, 1, "")
    await ensure_topics(kafka.bootstrap_servers, [topic])
    monkeypatch.setattr(publish, "SYSTEM", SYSTEM._replace(now=lambda: SYSTEM.now() + ahead))
    with capture_logs() as logs:
        async with Publisher(kafka.bootstrap_servers) as publisher:
            for _ in range(3):
                await (await publisher.send(topic.name, b"k", b"v"))
    measured = REGISTRY.get_sample_value("leadsman_clock_skew_seconds", {"server": "kafka"})
    assert measured == pytest.approx(ahead.total_seconds(), abs=60)
    (line,) = [each for each in logs if each["log_level"] == "warning"]
    assert line["server"] == "kafka"
    assert line["this_machine"].endswith("ahead" if ahead > timedelta() else "behind")


async def test_a_producer_that_does_not_stop_is_replaced_without_warnings(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If connections hang, aiokafka waits for them, and warns of a producer that was not closed."""
    topic = Topic(f"hangs-{uuid.uuid4().hex[:8]}", 1, 1, "")
    await ensure_topics(kafka.bootstrap_servers, [topic], replication_factor=1)
    monkeypatch.setattr(publish, "STOP_SECONDS", 0.1)
    async with Publisher(kafka.bootstrap_servers) as publisher:
        await (await publisher.send(topic.name, b"k", b"0"))
        producer = publisher._producer
        assert producer is not None
        monkeypatch.setattr(producer._sender, "close", asyncio.Event().wait)
        publisher._break(producer, KafkaError("as if it hung"))
        await (await publisher.send(topic.name, b"k", b"1"))
        assert publisher._producer not in {None, producer}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        producer.__del__()
