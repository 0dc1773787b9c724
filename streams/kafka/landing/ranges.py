"""Ranges of a topic as they are, whoever has its partitions now."""

from collections.abc import Callable

from aiokafka import AIOKafkaConsumer, TopicPartition

from ingest.kafka import aiokafka_fixes
from ingest.model.topics import MAX_MESSAGE_BYTES
from streams.kafka.landing.portion import Begun
from streams.kafka.landing.store import Abandoned
from streams.kafka.message import Message, of_record

POLL_MS = 100


async def read_ranges(options: aiokafka_fixes.Options, begun: Begun, is_ours: Callable[[], bool]) -> list[Message]:
    """The messages of all ranges that the topic still has, in their order.

    `options` are aiokafka's. Raises KafkaError, and Abandoned once it `is_ours` no longer.
    """
    client = AIOKafkaConsumer(
        **options,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=MAX_MESSAGE_BYTES,
        check_crcs=False,
    )
    ranges = {TopicPartition(begun.topic, each.partition): each for each in begun.ranges}
    found: dict[TopicPartition, list[Message]] = {tp: [] for tp in ranges}
    async with aiokafka_fixes.started(client) as consumer:
        consumer.assign(list(ranges))
        for tp, each in ranges.items():
            consumer.seek(tp, each.start)
        left = set(ranges)
        while left:
            if not is_ours():
                raise Abandoned
            received = await consumer.getmany(*left, timeout_ms=POLL_MS)
            for tp, records in received.items():
                found[tp] += [of_record(record) for record in records if record.offset <= ranges[tp].end]
            left = {tp for tp in left if await consumer.position(tp) <= ranges[tp].end}
    return [message for of_range in found.values() for message in of_range]
