"""Settings of topics on a broker as it comes: made, compared, mended, and never with another number of partitions."""

import asyncio
import shlex
import sys
import uuid
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from common.errors import KafkaUnusable
from components.kafka import Kafka
from components.rows import row
from ingest.kafka.admin import ensure_topics
from ingest.kafka.publish import PartitionsChanged, Publisher
from ingest.kafka.settings import KafkaSettings
from ingest.model.topics import Topic
from leadsman.run.kafka import make_topics
from paths import ROOT
from streams.fold.findings import Alert
from streams.kafka.messages.alerts import encode_alert
from waiting import PATIENCE_SECONDS, until

pytestmark = [pytest.mark.asyncio, pytest.mark.components("kafka")]
HOUR_MS = 3_600_000


def settings_of(kafka: Kafka, **more: Any) -> KafkaSettings:
    prefix = f"topics-{uuid.uuid4().hex[:8]}"
    return KafkaSettings(bootstrap_servers=kafka.bootstrap_servers, topic_prefix=prefix, partitions=2, **more)


@asynccontextmanager
async def admin_of(kafka: Kafka) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


async def settings_in(kafka: Kafka, topic: str) -> Mapping[str, str]:
    """Return a topic's settings when the broker, which hears of a topic from its controller, has them."""
    found: dict[str, str] = {}
    async with admin_of(kafka) as admin:

        async def is_known() -> bool:
            answers: list[Any] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
            found.update({entry[0]: entry[1] for entry in answers[0].resources[0][4]})
            return bool(found)

        await until(is_known)
    return found


async def grow(kafka: Kafka, topic: str, partitions: int) -> None:
    async with admin_of(kafka) as admin:
        await admin.create_partitions({topic: NewPartitions(partitions)})
    await shown(kafka, topic, partitions)


async def shown(kafka: Kafka, topic: str, partitions: int) -> None:
    """Return when the broker, which hears of a change from its controller, shows so many partitions."""
    async with admin_of(kafka) as admin:

        async def is_shown() -> bool:
            (found,) = await admin.describe_topics([topic])
            return len(found["partitions"]) == partitions

        await until(is_shown)


async def test_topics_and_changelogs_do_not_have_the_broker_s_defaults(kafka: Kafka) -> None:
    settings = settings_of(kafka, retention_hours=5)
    await make_topics(settings)
    prefix = settings.topic_prefix
    for name in (f"{prefix}.nodes", f"{prefix}.findings", f"{prefix}.cluster", f"{prefix}.dead-letters"):
        found = await settings_in(kafka, name)
        assert (found["cleanup.policy"], found["retention.ms"]) == ("delete", str(5 * HOUR_MS))
        assert int(found["max.message.bytes"]) == 8 * 1024 * 1024
    for name in (f"{prefix}-work-node-logs-changelog", f"{prefix}-work-cluster-logs-changelog", f"{prefix}.alerts"):
        found = await settings_in(kafka, name)
        assert (found["cleanup.policy"], found["min.compaction.lag.ms"]) == ("compact", str(HOUR_MS))
        assert int(found["max.message.bytes"]) == 8 * 1024 * 1024
    again = await make_topics(settings)
    assert (again.missing, again.differences) == ([], [])


@pytest.mark.parametrize("ahead", [timedelta(days=2), timedelta(days=-8)])
async def test_messages_have_the_brokers_time_not_the_publishers(kafka: Kafka, ahead: timedelta) -> None:
    """Kafka refuses what is an hour ahead of it, and deletes what is older than the retention."""
    await make_topics(settings := settings_of(kafka))
    theirs_ms = int((datetime.now(UTC) + ahead).timestamp() * 1000)
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        for topic in settings.every_topic():
            stored = await producer.send_and_wait(topic.name, b"v", b"k", timestamp_ms=theirs_ms)
            stored_at = datetime.fromtimestamp(stored.timestamp / 1000, UTC)
            assert abs(datetime.now(UTC) - stored_at) < timedelta(minutes=5), topic.name


async def test_a_differing_topic_is_reported_with_the_command_that_fixes_it(kafka: Kafka) -> None:
    settings = settings_of(kafka)
    changelog = settings.every_topic()[-1]
    async with admin_of(kafka) as admin:
        await admin.create_topics([NewTopic(changelog.name, 2, 1)])  # as Faust, or an operator, would make it
    await shown(kafka, changelog.name, 2)
    (difference,) = (await make_topics(settings)).differences
    assert difference.topic == changelog.name
    assert "cleanup.policy is delete, not compact" in difference.what
    assert "max.message.bytes is 1048588, not 8388608" in difference.what
    program, server, address, *arguments = shlex.split(difference.mend)
    assert (program, server, address) == ("kafka-configs.sh", "--bootstrap-server", kafka.bootstrap_servers)
    await asyncio.to_thread(kafka.tool, "kafka.admin.ConfigCommand", *arguments)
    await until(lambda: mended(settings))


async def mended(settings: KafkaSettings) -> bool:
    return not (await make_topics(settings)).differences


async def test_more_required_in_sync_replicas_than_replicas_is_a_difference(kafka: Kafka) -> None:
    topic = Topic(f"blocked-{uuid.uuid4().hex[:8]}", 1, 1, "", min_insync_replicas=2)
    await ensure_topics(kafka.bootstrap_servers, [topic])
    await shown(kafka, topic.name, 1)
    (difference,) = (await ensure_topics(kafka.bootstrap_servers, [topic])).differences
    assert difference.what == "min.insync.replicas is 2, not 1"


async def test_fewer_replicas_than_configured_is_a_difference(kafka: Kafka) -> None:
    await make_topics(settings := settings_of(kafka))
    more = settings.model_copy(update={"replication_factor": 3})

    async def is_listed() -> bool:
        return not (await make_topics(settings)).missing

    await until(is_listed)
    found = (await make_topics(more)).differences
    assert {each.what for each in found} == {"it has 1 replica, not 3"}
    assert {each.topic for each in found} == {topic.name for topic in settings.every_topic()}


@pytest.mark.parametrize("which", [0, -1])
async def test_a_topic_that_grew_is_refused_and_named_at_start(kafka: Kafka, which: int) -> None:
    await make_topics(settings := settings_of(kafka))
    name = settings.every_topic()[which].name
    await grow(kafka, name, 3)
    with pytest.raises(KafkaUnusable, match=f"topic {name} has 3 partitions, not 2"):
        await make_topics(settings)


@pytest.mark.parametrize("which", [0, -1])
async def test_an_empty_topic_that_somebody_made_too_small_grows_and_one_with_a_message_is_refused(
    kafka: Kafka, which: int
) -> None:
    """A client that asks for a topic by name makes it with the broker's default of one partition."""
    settings = settings_of(kafka)
    name = settings.every_topic()[which].name
    async with admin_of(kafka) as admin:
        await admin.create_topics([NewTopic(name, 1, 1)])
    await shown(kafka, name, 1)
    assert (await make_topics(settings)).small == [name]
    await shown(kafka, name, 2)
    assert (await make_topics(settings)).small == []
    other = settings_of(kafka)
    name = other.every_topic()[which].name
    async with admin_of(kafka) as admin:
        await admin.create_topics([NewTopic(name, 1, 1)])
    await shown(kafka, name, 1)
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        await producer.send_and_wait(name, b"v", b"k")
    command = f"kafka-topics.sh --bootstrap-server {kafka.bootstrap_servers} --delete --topic {name}"
    with pytest.raises(KafkaUnusable, match=f"topic {name} has 1 partition, not 2.*{command}"):
        await make_topics(other)


async def test_the_shipped_consumer_waits_for_its_topic_and_makes_none(kafka: Kafka) -> None:
    settings = settings_of(kafka)
    topic = settings.topics().alerts.name
    alert = row(Alert, fingerprint="f", alertname="A", status="firing", labels={"alertname": "A"})
    program = str(ROOT / "examples/alert_consumer.py")
    consumer = await asyncio.create_subprocess_exec(
        sys.executable, program, kafka.bootstrap_servers, topic, stdout=PIPE, stderr=DEVNULL
    )
    try:
        await asyncio.sleep(2)  # the fault itself: it starts too early
        assert consumer.returncode is None
        assert topic in (await make_topics(settings)).missing
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
            await producer.send_and_wait(topic, encode_alert(alert._replace(annotations={"summary": "s"})), b"f")
        assert consumer.stdout is not None
        assert await asyncio.wait_for(consumer.stdout.readline(), PATIENCE_SECONDS) == b"firing A s\n"
    finally:
        consumer.kill()
        await consumer.wait()


async def test_a_running_publisher_refuses_a_topic_that_grew_and_names_it(kafka: Kafka) -> None:
    await make_topics(settings := settings_of(kafka))
    topic = settings.topics().nodes.name
    async with Publisher(kafka.bootstrap_servers, {"metadata_max_age_ms": 200}) as publisher:
        await (await publisher.send(topic, b"c/n", b"1"))
        await grow(kafka, topic, 3)

        async def is_refused() -> bool:
            try:
                await publisher.send(topic, b"c/n", b"2")
            except PartitionsChanged as error:
                return f"topic {topic} has 3 partitions now, and had 2" in str(error)
            return False

        await until(is_refused)
