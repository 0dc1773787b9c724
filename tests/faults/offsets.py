"""Reads the offsets of a pipeline's topics and of its groups."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from components.pipeline import PARTITIONS, Pipeline
from ingest.kafka.publish import SENT, PublisherNumber


async def committed(pipeline: Pipeline, part: str) -> dict[Any, int]:
    """The offsets of a group, `work` or `land`, by partition."""
    kafka = pipeline.settings.kafka
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    await admin.start()
    try:
        found = await admin.list_consumer_group_offsets(f"{kafka.topic_prefix}-{part}")
    finally:
        await admin.close()
    return {partition: at.offset for partition, at in found.items()}


async def ends(pipeline: Pipeline, topics: Iterable[str]) -> dict[TopicPartition, int]:
    """Return the end offsets of the topics' partitions now."""
    partitions = [TopicPartition(topic, partition) for topic in topics for partition in range(PARTITIONS)]
    async with AIOKafkaConsumer(bootstrap_servers=pipeline.settings.kafka.bootstrap_servers) as consumer:
        return dict(await consumer.end_offsets(partitions))


async def publishers_since(pipeline: Pipeline, offsets: Mapping[TopicPartition, int]) -> set[str]:
    """Return the publishers of the messages behind these offsets."""
    found = set()
    async with AIOKafkaConsumer(bootstrap_servers=pipeline.settings.kafka.bootstrap_servers) as consumer:
        consumer.assign(list(offsets))
        for partition, offset in offsets.items():
            consumer.seek(partition, offset)
        due = await consumer.end_offsets(list(offsets))
        while any([await consumer.position(partition) < end for partition, end in due.items()]):
            for messages in (await consumer.getmany(timeout_ms=100)).values():
                found |= {PublisherNumber.parse(dict(message.headers)[SENT]).publisher for message in messages}
    return found


def reached(pipeline: Pipeline) -> Callable[[], bool]:
    """Return whether both groups have acknowledged everything that is there now."""
    topics = pipeline.topics
    records = (topics.nodes.name, topics.cluster.name)
    landed = (topics.nodes.name, topics.findings.name, topics.dead_letters.name)
    now = {"work": asyncio.run(ends(pipeline, records)), "land": asyncio.run(ends(pipeline, landed))}
    return lambda: all(_covers(asyncio.run(committed(pipeline, part)), due) for part, due in now.items())


def _covers(offsets: Mapping[TopicPartition, int], due: Mapping[TopicPartition, int]) -> bool:
    return all(offsets.get(tp, 0) >= end for tp, end in due.items())
