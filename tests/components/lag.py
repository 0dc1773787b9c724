"""The messages of topics that a group of consumers has not acknowledged."""

from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from common.errors import KafkaUnusable
from ingest.kafka import aiokafka_fixes


async def lag(servers: str, group: str, names: Sequence[str], options: Mapping[str, Any] | None = None) -> int:
    """Return their number; raises KafkaUnusable."""
    settings = {"bootstrap_servers": servers, **(options or {})}
    try:
        async with (
            aiokafka_fixes.started(AIOKafkaAdminClient(**settings)) as client,
            aiokafka_fixes.started(AIOKafkaConsumer(**settings)) as consumer,
        ):
            described = await client.describe_topics(list(names))
            partitions = [TopicPartition(t["topic"], p["partition"]) for t in described for p in t["partitions"]]
            begins = await consumer.beginning_offsets(partitions)
            ends = await consumer.end_offsets(partitions)
            committed = await aiokafka_fixes.committed(client, group, set(partitions))
    except KafkaError as error:
        raise KafkaUnusable(f"Kafka at {servers} does not return its offsets: {error}") from None
    return sum(ends[tp] - max(begins[tp], committed[tp].offset, 0) for tp in partitions)
