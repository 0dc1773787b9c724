"""The changelogs are compacted while the pipeline runs, as a broker may do at any moment."""

import asyncio
from typing import Final

from aiokafka import TopicPartition

from components.topics import topics_with
from faults.fire import Attacked
from faults.offsets import ends
from waiting import eventually

EAGER: Final = (
    "segment.ms=100,min.cleanable.dirty.ratio=0.001,min.compaction.lag.ms=0,max.compaction.lag.ms=1,"
    "delete.retention.ms=0"
)
CHECKPOINT: Final = "cleaner-offset-checkpoint"
"""The broker's file in which it keeps how far each partition was cleaned: a line each, topic, partition, offset."""


class Compaction:
    """The changelogs of a pipeline, cleaned as often as the broker can."""

    def __init__(self, on: Attacked) -> None:
        self._on = on
        prefix = on.pipeline.settings.kafka.topic_prefix
        found = topics_with(on.pipeline.settings.kafka.bootstrap_servers, prefix)
        self._topics = [topic for topic in found if topic.endswith("-changelog")]
        for topic in self._topics:
            flags = ("--entity-type", "topics", "--entity-name", topic, "--add-config", EAGER)
            on.kafka.tool("kafka.admin.ConfigCommand", "--alter", *flags)

    def passes(self) -> None:
        """Return when all that the changelogs hold now, but for what was never written to, was cleaned."""
        due = {tp: end for tp, end in asyncio.run(ends(self._on.pipeline, self._topics)).items() if end}
        eventually("the log cleaner has run", lambda: all(self._cleaned(tp) >= end for tp, end in due.items()))

    def _cleaned(self, partition: TopicPartition) -> int:
        """The offset up to which the broker has cleaned it."""
        wanted = [partition.topic, str(partition.partition)]
        lines = [line.split() for line in (self._on.kafka.data / CHECKPOINT).read_text().splitlines()]
        return next((int(line[2]) for line in lines if line[:2] == wanted), 0)
