"""Decides where a lander resumes a partition, by the store's progress, the commit and the topic's offsets.

It also tracks which message comes next, because aiokafka skips messages that retention has deleted.
"""

from typing import Final, NamedTuple

from aiokafka import TopicPartition

from streams.kafka.gaps import Gaps
from streams.kafka.takeover import Gap, GapKind


class ReceivedOffsets:
    """Adds to `gaps` messages that should have been received and were not; these topics have no other gaps."""

    def __init__(self, gaps: Gaps) -> None:
        self._gaps = gaps
        self._next: dict[TopicPartition, int] = {}

    def start(self, partition: TopicPartition, committed: int, earliest: int) -> int:
        """Return the offset to receive from. `committed` is negative without a commit, or if Kafka forgot it."""
        self._next[partition] = max(committed, 0)
        self._reach(partition, earliest, "lost" if committed >= 0 else "unknown")
        return self._next[partition]

    def add(self, partition: TopicPartition, first: int, last: int) -> None:
        """Record the first and last offset of received messages, both inclusive."""
        self._reach(partition, first)
        self._next[partition] = last + 1

    def next(self, partition: TopicPartition) -> int:
        return self._next[partition]

    def clear(self) -> None:
        self._next.clear()

    def _reach(self, partition: TopicPartition, first: int, kind: GapKind = "lost") -> None:
        expected = self._next[partition]
        if first > expected:
            self._gaps.add(Gap(kind, partition.topic, partition.partition, expected, first))
            self._next[partition] = first


UNKNOWN_MS: Final = -1


class Landed(NamedTuple):
    """The store's progress in a partition: it has every message before `end`, unless that is UNKNOWN."""

    end: int
    timestamp_ms: int
    """Kafka's time of the message before `end`; UNKNOWN_MS if the topic had lost it."""


UNKNOWN: Final = Landed(-1, UNKNOWN_MS)
"""Progress of a store that may have lost any message."""


class PartitionLog(NamedTuple):
    """The topic's messages of a partition: offsets from `earliest` up to but not including `end`."""

    earliest: int
    end: int
    timestamp_ms: int | None = None
    """Kafka's time of the last received or else last landed message; None if the topic no longer has it."""

    def is_other_than(self, last: Landed) -> bool:
        """Tell whether the log was truncated or recreated: it ends before that offset, or has another message
        there.
        """
        seen = self.timestamp_ms is not None and last.timestamp_ms != UNKNOWN_MS
        return self.end < last.end or (seen and self.timestamp_ms != last.timestamp_ms)


class Resume(NamedTuple):
    """The offset from which a partition resumes, and the gaps that this shows."""

    stored: int
    """The offset before which everything is stored; negative if unknown."""
    gaps: tuple[Gap, ...] = ()


def resume(
    partition: TopicPartition,
    committed: int,
    landed: Landed | None,
    log: PartitionLog,
    received: Landed | None = None,
) -> Resume:
    """Decide where a partition resumes, and which messages are missing.

    The store's progress decides. The commit counts only if the store has no row for the partition; it is negative if
    Kafka has none. The partition is compared with what was `received` after the stored part, if anything. Rows
    that are stored again replace themselves, so an early start only costs time.
    """
    topic, number = partition
    if landed is None:
        return Resume(committed)
    if landed == UNKNOWN:
        landed = Landed(log.earliest, UNKNOWN_MS)
    last = received or landed
    if log.is_other_than(last):
        return Resume(log.earliest, (Gap("replaced", topic, number, min(log.end, last.end - 1), last.end),))
    gap = Gap("unstored", topic, number, max(landed.end, log.earliest), committed)
    return Resume(landed.end, (gap,) if gap.message_count > 0 else ())
