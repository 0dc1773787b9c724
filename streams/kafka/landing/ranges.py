"""Reads ranges of a topic, independent of who has its partitions."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Final

from aiokafka import AIOKafkaConsumer, TopicPartition

from ingest.kafka import aiokafka_fixes
from ingest.model.topics import MAX_MESSAGE_BYTES
from streams.kafka.landing.portion import Begun
from streams.kafka.landing.resume import Landed, PartitionLog
from streams.kafka.landing.store import Abandoned
from streams.kafka.message import Message, message_of_record

POLL_MS: Final = 100
TIMES_SECONDS: Final = 30.0


async def read_ranges(options: aiokafka_fixes.Options, begun: Begun, is_ours: Callable[[], bool]) -> list[Message]:
    """Return the messages of all ranges that the topic still has, in order.

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
                found[tp] += [message_of_record(record) for record in records if record.offset <= ranges[tp].end]
            left = {tp for tp in left if await consumer.position(tp) <= ranges[tp].end}
    return [message for of_range in found.values() for message in of_range]


async def read_logs(
    options: aiokafka_fixes.Options, partitions: Collection[TopicPartition], last: Mapping[TopicPartition, Landed]
) -> Mapping[TopicPartition, PartitionLog]:
    """Return the offsets that topics have of partitions, and the times of the messages before the ends in `last`.

    Raises KafkaError.
    """
    one_batch = {"enable_auto_commit": False, "max_partition_fetch_bytes": 1}
    async with aiokafka_fixes.started(AIOKafkaConsumer(**options, **one_batch)) as consumer:
        earliest = await consumer.beginning_offsets(list(partitions))
        ends = await consumer.end_offsets(list(partitions))
        offsets = {tp: last[tp].end - 1 for tp in partitions if tp in last}
        offsets = {tp: offset for tp, offset in offsets.items() if earliest[tp] <= offset < ends[tp]}
        times = await _times(consumer, offsets)
    return {tp: PartitionLog(earliest[tp], ends[tp], times.get(tp)) for tp in partitions}


async def _times(consumer: AIOKafkaConsumer, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
    consumer.assign(list(offsets))
    for tp, offset in offsets.items():
        consumer.seek(tp, offset)
    found, left = dict[TopicPartition, int](), set(offsets)
    async with asyncio.timeout(TIMES_SECONDS):
        while left:
            for tp, records in (await consumer.getmany(*left, timeout_ms=POLL_MS)).items():
                found.update((tp, each.timestamp) for each in records if each.offset == offsets[tp])
            left = {tp for tp in left if await consumer.position(tp) <= offsets[tp]}
    return found
