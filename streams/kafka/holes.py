"""Offsets that a topic has no message for: markers of transactions, or what compaction removed."""

import asyncio
from typing import Final

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from ingest.kafka import aiokafka_fixes
from ingest.kafka.topic_settings import settings_of
from ingest.model.topics import MAX_MESSAGE_BYTES
from streams.kafka.gaps import Takeovers
from streams.kafka.takeover import Gap

LOOK_SECONDS: Final = 15.0
log = structlog.get_logger(__name__)


class Holes:
    """Looks with a consumer of its own whether messages are missing in the topic, or were only passed over here."""

    def __init__(self, options: aiokafka_fixes.Options, takeovers: Takeovers) -> None:
        """`options` are the clients'; what was deleted is a gap of `takeovers`."""
        self._options = options
        self._takeovers = takeovers
        self._known: dict[TopicPartition, tuple[int, int]] = {}
        """The last of each partition."""

    async def has(self, partition: TopicPartition, first: int, end: int) -> bool:
        """Tell whether the topic has no message from `first` up to but not including `end`; False if Kafka does not
        answer.

        Kafka deletes nothing in the middle of a topic that is not compacted, so a hole there is not a gap.
        """
        if self._known.get(partition) == (first, end):
            return True
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                earliest, found = await self._look(partition, first)
                if found != end:
                    return False
                compacted = earliest <= first and await self._is_compacted(partition.topic)
        except (KafkaError, TimeoutError) as error:
            log.warning("Kafka does not show whether messages are missing", error=repr(error))
            return False
        self._known[partition] = first, end
        if earliest > first or compacted:
            gap = Gap("compacted" if compacted else "lost", *partition, first, end)
            self._takeovers.gaps.add(gap, self._takeovers.clusters(partition))
        return True

    async def _look(self, partition: TopicPartition, first: int) -> tuple[int, int]:
        """The topic's first offset, and that of the first message from `first` on."""
        client = AIOKafkaConsumer(
            **self._options,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=MAX_MESSAGE_BYTES,
        )
        async with aiokafka_fixes.started(client) as consumer:
            consumer.assign([partition])
            earliest = (await consumer.beginning_offsets([partition]))[partition]
            consumer.seek(partition, max(first, earliest))
            return earliest, (await consumer.getone(partition)).offset

    async def _is_compacted(self, topic: str) -> bool:
        """Also where Kafka does not show it."""
        async with aiokafka_fixes.started(AIOKafkaAdminClient(**self._options)) as admin:
            settings = (await settings_of(admin, [topic])).get(topic, {})
        return settings.get("cleanup.policy") != "delete"
