"""A watcher's versions in Kafka: there for the next one, and only for what that Kafka has."""

import uuid
from collections.abc import Mapping

import pytest
from aiokafka import AIOKafkaConsumer, OffsetAndMetadata, TopicPartition

from components.kafka import Kafka
from ingest.kafka.admin import ensure_topics
from ingest.kafka.aiokafka_fixes import started
from ingest.kafka.publish import Publisher
from ingest.kafka.versions import versions_in
from ingest.model.topics import topics

pytestmark = [pytest.mark.asyncio, pytest.mark.components("kafka")]

KEPT = '{"cluster_uid": "uid", "versions": {"pods": "7"}}'
NOBODY = "127.0.0.1:1"


class Watcher:
    """Versions of one watcher after another, kept beside a topic of its own."""

    def __init__(self, kafka: Kafka) -> None:
        name = f"v{uuid.uuid4().hex[:8]}"
        self.servers, self.group, self.topic = kafka.bootstrap_servers, f"{name}-watch", topics(name).cluster
        self.cluster = "uid"

    async def make(self) -> None:
        await ensure_topics(self.servers, [self.topic])
        async with Publisher(self.servers) as publisher:
            await publisher.send(self.topic.name, b"c", b"{}", partition=0)
            await publisher.flush()

    async def found(self, then: Mapping[str, str] | None = None) -> Mapping[str, str]:
        """Return the versions with which it begins; `then` is saved before it ends."""
        async with versions_in(self.servers, {}, self.group, self.topic.name, self.cluster) as kept:
            assert kept.save is not None
            if then is not None:
                await kept.save(then)
            return kept.versions


async def test_the_next_watcher_finds_the_version_that_was_stored_last(kafka: Kafka) -> None:
    watcher = Watcher(kafka)
    await watcher.make()
    assert await watcher.found({"pods": "7"}) == {}
    assert await watcher.found({"pods": "8", "nodes": "3"}) == {"pods": "7"}
    assert await watcher.found() == {"pods": "8", "nodes": "3"}


@pytest.mark.parametrize(
    ("offset", "metadata"), [(2, KEPT), (1, "of another tool"), (1, KEPT.replace('"7"', "7")), (1, "")]
)
async def test_a_foreign_or_too_large_commit_does_not_count_as_versions(
    offset: int, metadata: str, kafka: Kafka
) -> None:
    """The topic has one message, so one that was truncated or recreated ends before 2."""
    watcher = Watcher(kafka)
    await watcher.make()
    async with started(AIOKafkaConsumer(group_id=watcher.group, bootstrap_servers=watcher.servers)) as consumer:
        partition = TopicPartition(watcher.topic.name, 0)
        consumer.assign([partition])
        await consumer.commit({partition: OffsetAndMetadata(offset, metadata)})
    assert await watcher.found() == {}


async def test_versions_of_a_same_named_other_cluster_are_not_used(kafka: Kafka) -> None:
    watcher = Watcher(kafka)
    await watcher.make()
    await watcher.found({"pods": "7"})
    watcher.cluster = "another"
    assert await watcher.found() == {}


async def test_a_version_that_is_too_long_for_a_commit_is_left_out(kafka: Kafka) -> None:
    watcher = Watcher(kafka)
    await watcher.make()
    await watcher.found({"pods": "7", "events": "9" * 40_000})
    assert await watcher.found() == {"pods": "7"}


async def test_a_watcher_starts_with_lists_and_reports_why_if_kafka_does_not_answer() -> None:
    async with versions_in(NOBODY, {}, "g", "t", "uid") as kept:
        assert kept.versions == {}
        assert kept.save is not None
        with pytest.raises(OSError, match="versions are not kept in Kafka: it "):
            await kept.save({"pods": "7"})
