"""Reads Kafka's topics for a test."""

import asyncio
from typing import Any

from aiokafka import AIOKafkaConsumer


def messages(bootstrap_servers: str, *topics: str) -> list[Any]:
    """Every message that the topics hold now, those of a partition in their order; the topics exist."""
    return asyncio.run(_messages(bootstrap_servers, *topics))


def topics_with(bootstrap_servers: str, prefix: str) -> list[str]:
    """The topics whose names begin so, changelogs too."""
    return asyncio.run(_topics_with(bootstrap_servers, prefix))


async def _messages(servers: str, *topics: str) -> list[Any]:
    found: list[Any] = []
    async with AIOKafkaConsumer(*topics, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        for partition, end in (await consumer.end_offsets(consumer.assignment())).items():
            while await consumer.position(partition) < end:
                found += (await consumer.getmany(partition, timeout_ms=1000)).get(partition, [])
    return found


async def _topics_with(servers: str, prefix: str) -> list[str]:
    async with AIOKafkaConsumer(bootstrap_servers=servers) as consumer:
        return [topic for topic in await consumer.topics() if topic.startswith(prefix)]
