"""Tracks which message of a partition comes next: aiokafka skips messages that retention has deleted."""

from aiokafka import TopicPartition

from streams.kafka.gaps import Gaps
from streams.kafka.takeover import Gap, GapKind


class Arrivals:
    """Adds to `gaps` what was committed to be received and is not; these topics have no other gaps."""

    def __init__(self, gaps: Gaps) -> None:
        self._gaps = gaps
        self._next: dict[TopicPartition, int] = {}

    def begin(self, partition: TopicPartition, committed: int, earliest: int) -> int:
        """Return the offset to receive from. A negative `committed` means that nothing was committed, or that Kafka
        has forgotten it.
        """
        self._next[partition] = max(committed, 0)
        self._reach(partition, earliest, "lost" if committed >= 0 else "unknown")
        return self._next[partition]

    def add(self, partition: TopicPartition, first: int, last: int) -> None:
        """Offsets of what came, both inclusive."""
        self._reach(partition, first)
        self._next[partition] = last + 1

    def next(self, partition: TopicPartition) -> int:
        return self._next[partition]

    def clear(self) -> None:
        """Forget everything but the gaps."""
        self._next.clear()

    def _reach(self, partition: TopicPartition, first: int, kind: GapKind = "lost") -> None:
        expected = self._next[partition]
        if first > expected:
            self._gaps.add(Gap(kind, partition.topic, partition.partition, expected, first))
            self._next[partition] = first
