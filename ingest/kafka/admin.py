"""Create topics, or check them, before anything is published."""

from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError

from common.errors import FilesUnusable, KafkaUnusable
from ingest.kafka.reaching import explain, why_unreachable
from ingest.model.topics import Topic


class TopicsUnusable(KafkaUnusable):
    """Kafka cannot be used as it is; the message has what is wrong and what to do."""


async def ensure_topics(
    bootstrap_servers: str,
    topics: Sequence[Topic],
    *,
    replication_factor: int = 1,
    options: Mapping[str, Any] | None = None,
    make: bool = True,
) -> list[str]:
    """Make the topics that are missing (or, without `make`, do not), and return their names.

    Raises TopicsUnusable where Kafka does not answer, or a topic has another number of partitions: that number
    decides each log's partition, so it never changes.
    """
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers, **(options or {}))
    try:
        await admin.start()
        return await _ensure(admin, topics, replication_factor if make else None)
    except (KafkaError, OSError, FilesUnusable) as error:
        why = await why_unreachable(bootstrap_servers, options or {}) or explain(error)
        raise TopicsUnusable(f"Kafka at {bootstrap_servers} cannot be used: {why}") from None
    finally:
        await admin.close()


async def _ensure(admin: AIOKafkaAdminClient, topics: Sequence[Topic], replication_factor: int | None) -> list[str]:
    known = set(await admin.list_topics())
    missing = [topic for topic in topics if topic.name not in known]
    for topic in missing if replication_factor is not None else ():
        new = NewTopic(topic.name, topic.partitions, replication_factor, topic_configs=topic.config())
        try:
            await admin.create_topics([new])
        except TopicAlreadyExistsError:
            continue  # another process was faster
    old = [topic for topic in topics if topic.name in known]
    described = (
        {each["topic"]: each for each in await admin.describe_topics([topic.name for topic in old])} if old else {}
    )
    for topic in old:
        partitions = len(described[topic.name]["partitions"])
        if partitions != topic.partitions:
            raise TopicsUnusable(
                f"topic {topic.name} has {partitions} partitions, not {topic.partitions}. Delete it, or give another "
                "kafka.topic_prefix"
            )
    return [topic.name for topic in missing]


async def lag(
    bootstrap_servers: str, group: str, names: Sequence[str], options: Mapping[str, Any] | None = None
) -> int:
    """How many messages of the topics the group has not acknowledged yet; raises TopicsUnusable."""
    settings = {"bootstrap_servers": bootstrap_servers, **(options or {})}
    admin = AIOKafkaAdminClient(**settings)
    consumer = AIOKafkaConsumer(**settings)
    try:
        await admin.start()
        await consumer.start()
        described = await admin.describe_topics(list(names))
        partitions = [TopicPartition(t["topic"], p["partition"]) for t in described for p in t["partitions"]]
        begins = await consumer.beginning_offsets(partitions)
        ends = await consumer.end_offsets(partitions)
        committed = await admin.list_consumer_group_offsets(group, partitions=partitions)
    except KafkaError as error:
        raise TopicsUnusable(f"Kafka at {bootstrap_servers} does not return its offsets: {error!r}") from None
    finally:
        await consumer.stop()
        await admin.close()
    return sum(ends[tp] - max(begins[tp], committed[tp].offset if tp in committed else 0, 0) for tp in partitions)
